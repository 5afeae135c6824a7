"""Has the machines take the server for Redis 7.2, which Valkey and Varve are for most clients.

They hold no other client's errors to be answers, and leave out for Valkey what came with Redis 7.
"""

import os

from hypothesis import HealthCheck, Phase, settings

from test.test_hypothesis.base import MachineConfig

made = MachineConfig.__init__


def made_for_redis(config, *arguments, **named):
    made(config, *arguments, **named)
    config.server_type, config.version = "redis", (7, 2, 4)


MachineConfig.__init__ = made_for_redis


def pytest_sessionstart(session):
    """How long a command takes is not asked, and a failing run is told as it is: making it short takes minutes."""
    examples = int(os.environ["FAKEREDIS_HYPOTHESIS_EXAMPLES"])
    slow = list(HealthCheck)
    settings.register_profile(
        "suite", max_examples=examples, phases=[Phase.generate], deadline=None, suppress_health_check=slow, database=None
    )
    settings.load_profile("suite")
