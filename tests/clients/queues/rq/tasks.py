"""What the workers do."""

from rq import get_current_job


def add(first, second):
    return first + second


def note(word):
    """Leaves its argument in a list."""
    get_current_job().connection.rpush("noted", word)


def fail_at_first(times):
    """Fails so many times, then tells how often it was tried."""
    tries = get_current_job().connection.incr("tries")
    if tries <= times:
        raise ValueError("not yet")
    return tries


def fail():
    raise ValueError("broken")
