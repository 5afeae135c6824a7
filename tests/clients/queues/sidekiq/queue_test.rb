# Sidekiq against the server at SERVER_ADDR: jobs are pushed here and done by a process of Sidekiq's. One line for
# each case, status 1 when one fails.
ENV["QUEUE_URL"] = "redis://#{ENV.fetch("SERVER_ADDR", "127.0.0.1:6379")}/0"
require_relative "jobs"
require "sidekiq/api"

PATIENCE = 60 # seconds after which a case that waits for something gives up

def expect(condition, what)
  raise what unless condition
end

def wait_until(what)
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE
  until yield
    expect(Process.clock_gettime(Process::CLOCK_MONOTONIC) < deadline, what)
    sleep 0.01
  end
end

def noted
  Sidekiq.redis { |db| db.lrange("noted", 0, -1) }
end

CASES = {
  "a job is done" => lambda {
    Note.perform_async("one")
    wait_until("the job was not done") { noted == ["one"] }
  },
  "100 jobs that are pushed at once are each done once" => lambda {
    Sidekiq::Client.push_bulk("class" => Note, "args" => (1..100).map { |number| [number] })
    wait_until("some jobs were not done") { noted.size >= 100 }
    expect(noted.map(&:to_i).sort == (1..100).to_a, "some jobs were done twice")
  },
  "a scheduled job waits for its time" => lambda {
    begun = Time.now
    Note.perform_in(1, "later")
    far = Note.perform_in(86_400, "tomorrow")
    expect(Sidekiq::ScheduledSet.new.size == 2, "the jobs are not scheduled")
    wait_until("the job was not done") { noted == ["later"] }
    expect(Time.now - begun >= 1, "the job was done early")
    expect(Sidekiq::ScheduledSet.new.map(&:jid) == [far], "the other job is not scheduled any more")
    expect(Sidekiq::ScheduledSet.new.find_job(far).delete, "the other job was not deleted")
  },
  "a scheduled job is done after the scripts were flushed" => lambda {
    Sidekiq.redis { |db| db.script(:flush) }
    Note.perform_at(Time.now + 0.1, "later")
    wait_until("the job was not done") { noted == ["later"] }
  },
  "a job that fails is tried again" => lambda {
    FailAtFirst.perform_async(1)
    wait_until("the job is not among those to be retried") { Sidekiq::RetrySet.new.size == 1 }
    failed = Sidekiq::RetrySet.new.first
    expect(failed["error_message"] == "not yet" && failed["retry_count"] == 0, "its failure is not told")
    Sidekiq::RetrySet.new.each { |job| job.reschedule(Time.now) }
    wait_until("the job was not tried again") { Sidekiq.redis { |db| db.get("tries") } == "2" }
    wait_until("the job is still to be retried") { Sidekiq::RetrySet.new.size.zero? }
  },
  "a job that fails for good is kept, and retried when asked" => lambda {
    Fail.perform_async
    wait_until("the job is not among the dead") { Sidekiq::DeadSet.new.size == 1 }
    expect(Sidekiq::DeadSet.new.first["error_message"] == "broken", "its failure is not told")
    Sidekiq::DeadSet.new.first.retry
    wait_until("the job is not among the dead again") { Sidekiq::DeadSet.new.size == 1 && Sidekiq::Queue.new.size.zero? }
  },
  "a queue is listed and cleared" => lambda {
    Note.set(queue: "other").perform_async("never")
    Sidekiq::Client.push("class" => "Note", "args" => ["never"], "queue" => "other")
    expect(Sidekiq::Queue.new("other").size == 2, "the queue does not have two jobs")
    expect(Sidekiq::Queue.all.map(&:name).include?("other"), "the queue is not listed")
    Sidekiq::Queue.new("other").clear
    expect(Sidekiq::Queue.new("other").size.zero? && noted.empty?, "the queue was not cleared")
  },
  "what was done is counted, and the process is known" => lambda {
    3.times { Note.perform_async("one") }
    wait_until("the jobs were not counted") { Sidekiq::Stats.new.processed >= 3 }
    wait_until("the process is not known") { Sidekiq::ProcessSet.new.size == 1 }
  }
}.freeze

# Whether a case passes on an empty server.
def passes?(title, test)
  Sidekiq.redis(&:flushall)
  test.call
  puts "ok   #{title}"
  true
rescue StandardError => e
  puts "FAIL #{title}: #{e.full_message(highlight: false)}"
  false
end

$stdout.sync = true
log = ENV.fetch("QUEUE_LOG", File::NULL)
command = ["ruby", "-S", "sidekiq", "--require", File.join(__dir__, "jobs.rb"), "--concurrency", "5", "--timeout", "5"]
worker = Process.spawn(*command, out: log, err: log)
begin
  passed = CASES.map { |name, test| passes?("sidekiq: #{name}", test) }
ensure
  Process.kill("TERM", worker)
  Process.wait(worker)
end
puts "FAIL sidekiq: the process ended with #{$?}" unless $?.success?
exit passed.all? && $?.success?
