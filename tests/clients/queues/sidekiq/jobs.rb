# What the workers do. Its requires let Sidekiq poll for jobs whose time has come each tenth of a second.
require "sidekiq"
require "sidekiq/scheduled"

Redis.silence_deprecations = true

Sidekiq.configure_server do |config|
  config.redis = { url: ENV.fetch("QUEUE_URL") }
  config.average_scheduled_poll_interval = 0.1
end
Sidekiq.configure_client { |config| config.redis = { url: ENV.fetch("QUEUE_URL") } }

# Leaves its argument in a list.
class Note
  include Sidekiq::Job

  def perform(word)
    Sidekiq.redis { |db| db.rpush("noted", word) }
  end
end

# Fails so many times, and tells when it was tried.
class FailAtFirst
  include Sidekiq::Job
  sidekiq_options retry: 3
  sidekiq_retry_in { 1 }

  def perform(times)
    tries = Sidekiq.redis { |db| db.incr("tries") }
    raise "not yet" if tries <= times
  end
end

# Fails, and is given up at once.
class Fail
  include Sidekiq::Job
  sidekiq_options retry: 0

  def perform
    raise "broken"
  end
end
