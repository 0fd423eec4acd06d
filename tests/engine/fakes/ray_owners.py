"""Three Ray actors that each hold a fake engine: python ray_owners.py LAUNCHES as a JSON list.

The first actor's worker process is killed by SIGKILL, the second with ray.kill, the third stays. Prints "ready" when
all serve, "killed" after the first two deaths, and then waits to be killed itself.
"""

import contextlib
import json
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import ray

from tuner.engine.process import Launch, running_engine


class Owner:
    def __init__(self, facts: dict[str, Any]) -> None:
        launch = Launch(**{**facts, "command": tuple(facts["command"]), "log_path": Path(facts["log_path"])})
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(running_engine(launch))

    def pid(self) -> int:
        return os.getpid()


ray.init(num_cpus=3, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
remote: Any = ray.remote(num_cpus=1)(Owner)
owners = [remote.remote(facts) for facts in json.loads(sys.argv[1])]
pids = ray.get([owner.pid.remote() for owner in owners])
print("ready", flush=True)
os.kill(pids[0], signal.SIGKILL)
ray.kill(owners[1])
print("killed", flush=True)
time.sleep(600)
