"""RQ's queues and workers against the server at SERVER_ADDR, one line for each case, status 1 when one fails.

queue_test.py [PART ...]      only the cases with these parts in their names
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import time
import traceback
from datetime import timedelta

import redis
from rq import Queue, Repeat, Retry
from rq.exceptions import DuplicateJobError
from rq.rate_limit import RateLimit

import tasks

URL = "redis://%s/0" % os.environ.get("SERVER_ADDR", "127.0.0.1:6379")
PATIENCE = 60  # seconds after which a case that waits for something gives up
HERE = pathlib.Path(__file__).resolve().parent


def a_job_is_done_and_its_result_kept(queue):
    job = queue.enqueue(tasks.add, 2, 3)
    assert job.is_queued and len(queue) == 1
    _burst()
    assert job.is_finished and job.return_value() == 5 and len(queue) == 0


def two_workers_share_the_jobs_and_none_is_done_twice(queue):
    jobs = [Queue.prepare_data(tasks.note, (str(number),)) for number in range(20)]
    queue.enqueue_many(jobs)
    workers = [_start("--burst") for _ in range(2)]
    assert [worker.wait(PATIENCE) for worker in workers] == [0, 0]
    noted = queue.connection.lrange("noted", 0, -1)
    assert sorted(map(int, noted)) == list(range(20)) and queue.finished_job_registry.count == 20


def a_job_that_fails_is_tried_again(queue):
    job = queue.enqueue(tasks.fail_at_first, 2, retry=Retry(max=3))
    _burst()
    assert job.is_finished and job.return_value() == 3 and queue.failed_job_registry.count == 0


def a_job_that_fails_for_good_is_kept_and_requeued_when_asked(queue):
    job = queue.enqueue(tasks.fail_at_first, 1)
    broken = queue.enqueue(tasks.fail)
    _burst()
    assert job.is_failed and sorted(queue.failed_job_registry.get_job_ids()) == sorted([job.id, broken.id])
    assert "ValueError: broken" in broken.latest_result().exc_string
    queue.failed_job_registry.requeue(job.id)
    _burst()
    assert job.is_finished and job.return_value() == 2 and queue.failed_job_registry.get_job_ids() == [broken.id]


def a_job_waits_for_those_it_depends_on(queue):
    first = queue.enqueue(tasks.note, "first")
    second = queue.enqueue(tasks.note, "second", depends_on=first)
    last = queue.enqueue(tasks.note, "last", depends_on=[first, second])
    assert second.is_deferred and last.is_deferred and queue.deferred_job_registry.count == 2
    _burst()
    assert queue.connection.lrange("noted", 0, -1) == [b"first", b"second", b"last"] and last.is_finished


def a_job_does_not_begin_where_one_it_depends_on_has_failed(queue):
    broken = queue.enqueue(tasks.fail)
    behind = queue.enqueue(tasks.note, "never", depends_on=broken)
    _burst()
    assert broken.is_failed and behind.is_deferred and not queue.connection.exists("noted")


def a_scheduled_job_waits_for_its_time(queue):
    # RQ leaves out the part of a second, so a job may begin up to one second before its time.
    job = queue.enqueue_in(timedelta(seconds=2), tasks.add, 1, 1)
    far = queue.enqueue_in(timedelta(days=1), tasks.add, 1, 1)
    assert job.is_scheduled and queue.scheduled_job_registry.count == 2
    with _worker("--with-scheduler"):
        _wait_until(lambda: job.is_finished, "the job was not done")
    job.refresh()
    assert job.enqueued_at - job.created_at >= timedelta(seconds=1)
    assert queue.scheduled_job_registry.get_job_ids() == [far.id]


def a_job_is_tried_again_after_a_while_and_repeated(queue):
    late = queue.enqueue(tasks.fail_at_first, 1, retry=Retry(max=1, interval=1))
    often = queue.enqueue(tasks.note, "again", repeat=Repeat(times=2, interval=1))
    with _worker("--with-scheduler"):
        _wait_until(lambda: late.is_finished, "the job was not tried again")
        _wait_until(lambda: queue.connection.llen("noted") == 3, "the job was not repeated")
    assert late.return_value() == 2 and often.get_status(refresh=True) == "finished"


def a_job_of_the_same_name_is_added_once(queue):
    queue.enqueue(tasks.note, "one", job_id="name", unique=True)
    for again in (queue.enqueue, lambda *rest, **options: queue.enqueue_in(timedelta(days=1), *rest, **options)):
        try:
            again(tasks.note, "two", job_id="name", unique=True)
        except DuplicateJobError:
            continue
        raise AssertionError("a job was added twice")
    queue.enqueue(tasks.note, "front", at_front=True)
    _burst()
    assert queue.connection.lrange("noted", 0, -1) == [b"front", b"one"]


def no_more_jobs_of_a_key_are_queued_than_its_limit(queue):
    limit = RateLimit(key="slow", concurrency=2)
    jobs = [queue.enqueue(tasks.note, str(number), rate_limit=limit) for number in range(5)]
    assert len(queue) == 2 and [job.get_status() for job in jobs][2:] == ["rate_limited"] * 3
    _burst()
    assert sorted(queue.connection.lrange("noted", 0, -1)) == [b"0", b"1", b"2", b"3", b"4"]
    assert all(job.is_finished for job in jobs)


def a_queue_is_emptied_and_deleted(queue):
    jobs = [queue.enqueue(tasks.add, number, 1) for number in range(10)]
    jobs[0].cancel()
    assert len(queue) == 9 and queue.canceled_job_registry.get_job_ids() == [jobs[0].id]
    assert queue.empty() == 9 and len(queue) == 0
    queue.enqueue(tasks.add, 1, 1)
    queue.delete()
    assert [each for each in queue.connection.keys() if b"queue" in each] == []


def _command(*options):
    return [sys.executable, "-m", "rq.cli", "worker", "--url", URL, "--quiet", "--path", str(HERE), *options, "q"]


def _start(*options):
    return subprocess.Popen(_command(*options), stdout=sys.stdout, stderr=subprocess.STDOUT)


def _burst():
    """A worker that runs until nothing is left to do."""
    subprocess.run(_command("--burst"), check=True, timeout=PATIENCE, stdout=sys.stdout, stderr=subprocess.STDOUT)


@contextlib.contextmanager
def _worker(*options):
    """A worker beside the case. SIGTERM may meet it amid a reply, so how it ends is not looked at."""
    worker = _start(*options)
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(PATIENCE)


def _wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def _passes(title, case):
    with redis.Redis.from_url(URL) as db:
        db.flushall()
        try:
            case(Queue("q", connection=db))
        except Exception:
            print("FAIL %s\n%s" % (title, traceback.format_exc()), flush=True)
            return False
    print("ok   " + title, flush=True)
    return True


def main(chosen):
    named = [("rq: " + name.replace("_", " "), case) for name, case in globals().items() if name.startswith(("a_", "two_", "no_"))]
    passed = [_passes(title, case) for title, case in named if not chosen or any(part in title for part in chosen)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
