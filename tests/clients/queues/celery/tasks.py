"""The application: broker and results are kept by the server at SERVER_ADDR."""

import os

import redis
from celery import Celery

ADDRESS = "redis://%s" % os.environ.get("SERVER_ADDR", "127.0.0.1:6379")
app = Celery("tasks", broker=ADDRESS + "/0", backend=ADDRESS + "/1")
app.conf.update(task_default_queue="q", worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)
app.conf.broker_transport_options = {"visibility_timeout": 3600, "priority_steps": [0, 9], "queue_order_strategy": "priority"}
notes = redis.Redis.from_url(ADDRESS + "/2", decode_responses=True)


@app.task
def add(first, second):
    return first + second


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def note(word):
    notes.rpush("noted", word)


@app.task(bind=True, max_retries=3)
def fail_at_first(self, times):
    """Fails so many times, then tells how often it was tried."""
    if self.request.retries < times:
        raise self.retry(countdown=0.1)
    return self.request.retries + 1


@app.task
def fail():
    raise ValueError("broken")


@app.task
def caught(request, error, trace):
    notes.rpush("noted", str(error))
