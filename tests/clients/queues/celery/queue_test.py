"""Celery's tasks with the server at SERVER_ADDR as broker and for results, one line for each case, status 1 when one fails.

queue_test.py [PART ...]      only the cases with these parts in their names
"""

import contextlib
import pathlib
import subprocess
import sys
import time
import traceback

from celery import chain, chord, group
from celery.result import GroupResult

from tasks import add, app, caught, fail, fail_at_first, note, notes, total

PATIENCE = 60  # seconds after which a case that waits for something gives up
HERE = pathlib.Path(__file__).resolve().parent


def a_task_is_done_and_its_result_kept():
    result = add.delay(2, 3)
    assert result.get(PATIENCE) == 5 and result.successful()
    result.forget()
    assert app.AsyncResult(result.id).state == "PENDING"


def a_task_that_fails_tells_why():
    result = fail.delay()
    with contextlib.suppress(ValueError):
        result.get(PATIENCE)
        raise AssertionError("the task did not fail")
    assert result.failed() and "broken" in result.traceback


def a_task_is_tried_again():
    assert fail_at_first.delay(2).get(PATIENCE) == 3


def a_task_waits_for_its_time():
    begun = time.monotonic()
    assert add.apply_async((1, 1), countdown=0.5).get(PATIENCE) == 2
    assert time.monotonic() - begun >= 0.4


def a_group_of_50_tasks_is_done():
    result = group(add.s(number, number) for number in range(50))()
    assert result.get(PATIENCE) == [2 * number for number in range(50)]
    result.save()
    assert GroupResult.restore(result.id, app=app).completed_count() == 50


def a_chord_calls_its_body_once_with_all_results():
    for _ in range(5):
        assert chord((add.s(number, number) for number in range(20)), total.s())().get(PATIENCE) == 380


def a_chord_of_chords_comes_to_its_end():
    inner = [chord([add.s(number, 1), add.s(number, 2)], total.s()) for number in (10, 20)]
    assert chord(inner, total.s())().get(PATIENCE) == 66


def a_chord_with_a_broken_part_fails():
    body = total.s().on_error(caught.s())
    result = chord([add.s(1, 1), fail.s()], body)()
    _wait_until(lambda: result.failed(), "the chord did not fail")
    assert "broken" in str(result.result)
    _wait_until(lambda: notes.llen("noted"), "nobody was told")


def a_chain_hands_on_its_results():
    assert chain(add.s(1, 2), add.s(3), add.s(4))().get(PATIENCE) == 10
    assert chain(group(add.s(1, 1), add.s(2, 2)), total.s())().get(PATIENCE) == 6


def a_revoked_task_is_not_done():
    late = note.apply_async(("never",), countdown=2)
    assert len(app.control.revoke(late.id, reply=True, limit=1, timeout=PATIENCE)) == 1
    assert note.apply_async(("once",), countdown=2.5).get(PATIENCE) is None
    assert notes.lrange("noted", 0, -1) == ["once"] and app.AsyncResult(late.id).state == "REVOKED"


def a_worker_answers_questions():
    inspect = app.control.inspect(timeout=5, limit=1)
    assert list(inspect.ping().values()) == [{"ok": "pong"}]
    (names,) = inspect.registered().values()
    assert "tasks.add" in names


def the_number_of_messages_is_told_and_they_are_purged():
    with app.connection_for_write() as connection, connection.channel() as channel:
        for number in range(3):
            add.apply_async((number, 1), queue="nobody", connection=connection)
        assert channel.queue_declare("nobody", passive=True).message_count == 3
        assert channel.queue_purge("nobody") == 3


@contextlib.contextmanager
def _worker():
    command = [sys.executable, "-m", "celery", "--app", "tasks", "worker", "--pool", "threads", "--concurrency", "4"]
    command += ["--loglevel", "WARNING", "--without-gossip", "--without-mingle"]
    worker = subprocess.Popen(command, cwd=HERE, stdout=sys.stdout, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        worker.terminate()
        status = worker.wait(PATIENCE)
        assert status == 0, "the worker ended with status %d" % status


def _wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def _passes(title, case):
    notes.flushdb()
    try:
        case()
    except Exception:
        print("FAIL %s\n%s" % (title, traceback.format_exc()), flush=True)
        return False
    print("ok   " + title, flush=True)
    return True


def main(chosen):
    notes.flushall()
    named = [("celery: " + name.replace("_", " "), case) for name, case in globals().items() if name.startswith(("a_", "the_"))]
    with _worker():
        passed = [_passes(title, case) for title, case in named if not chosen or any(part in title for part in chosen)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
