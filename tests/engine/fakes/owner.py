"""A process that holds a fake engine until it is killed: python owner.py LAUNCH as JSON, FORK.

Prints `serves`, and `stopping engine` when it stops it. FORK "1": a forked child keeps our end of the pipe open.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from tuner.engine.process import Launch, running_engine

# A background job of a non-interactive shell inherits an ignored SIGINT; the tests send one all the same.
signal.signal(signal.SIGINT, signal.default_int_handler)

facts = json.loads(sys.argv[1])
launch = Launch(**{**facts, "command": tuple(facts["command"]), "log_path": Path(facts["log_path"])})


def tell(phase: str) -> None:
    if phase == "stopping engine":
        print(phase, flush=True)


with running_engine(launch, tell):
    if sys.argv[2] == "1" and os.fork() == 0:
        time.sleep(600)
        os._exit(0)
    print("serves", flush=True)
    time.sleep(600)
