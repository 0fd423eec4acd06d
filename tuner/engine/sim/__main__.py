"""`python -m tuner.engine.sim`: the simulated engine behind the command line of vLLM's API server."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from aiohttp import web

from tuner.engine.sim.arguments import Arguments, parse_arguments, parse_speculation
from tuner.engine.sim.assembly import BATCH_TASK, application
from tuner.engine.sim.clock import exact_event_loop
from tuner.engine.sim.faults import Faults, die, faults_of, memory_message
from tuner.engine.sim.misbehaviour import fork_as_told, listening
from tuner.engine.sim.profile import load_profile
from tuner.engine.sim.startup import EnginePlan, log_arguments, log_memory, log_settings, plan_engine
from tuner.errors import InputError

log = logging.getLogger("tuner.engine.sim.main")
_FLOOD_LINE = "INFO simulated noise " + "." * 234


def main(argv: Sequence[str]) -> int:
    """Serve until TERM; return the exit code as vLLM would."""
    _log_like_vllm()
    arguments = parse_arguments(argv)
    try:
        profile = load_profile(arguments.profile)
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    log_arguments(arguments, profile)
    try:
        speculation = parse_speculation(arguments.speculative_config)
        plan = plan_engine(arguments, profile, speculation)
    except (ValueError, InputError) as error:
        for line in ("Traceback (most recent call last):", *f"{_class_name(error)}: {error}".splitlines()):
            log.error("%s", line)
        return 1
    faults = faults_of(profile, speculation, arguments.served_name)
    fork_as_told(faults)
    with asyncio.Runner(loop_factory=exact_event_loop) as runner:
        return runner.run(_live(arguments, plan, faults))


def _class_name(error: Exception) -> str:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _log_like_vllm() -> None:
    form = f"(APIServer pid={os.getpid()}) %(levelname)s %(asctime)s [%(filename)s:%(lineno)d] %(message)s"
    logging.basicConfig(format=form, datefmt="%m-%d %H:%M:%S", level=logging.INFO, stream=sys.stdout)


async def _live(arguments: Arguments, plan: EnginePlan, faults: Faults) -> int:
    deaf = faults.of_life("ignore_term") is not None
    if deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    await _start(arguments, plan, faults)
    app = application(arguments, plan, faults)
    runner = web.AppRunner(
        app,
        handler_cancellation=True,
        access_log_format='%a - "%r" %s',
        shutdown_timeout=0.5,
    )
    await runner.setup()
    with listening(arguments.host, arguments.port) if faults.of_life("port_taken") else nullcontext():
        await web.TCPSite(runner, arguments.host, arguments.port, backlog=2048).start()
    # What was made so far lives as long as the process: no use in looking through it again and again.
    gc.freeze()
    # Until here TERM ends the process at once, as it does while a real engine loads.
    stop = _stop_event(() if deaf else (signal.SIGTERM, signal.SIGINT))
    log.info("Starting vLLM server on http://%s:%d", arguments.host, arguments.port)
    log.info("Started server process [%d]", os.getpid())
    log.info("Application startup complete.")
    ends: set[asyncio.Task[Any]] = {asyncio.create_task(stop.wait()), app[BATCH_TASK]}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    if not stop.is_set():
        app[BATCH_TASK].result()
    log.info("[shutdown] API server: shutdown triggered")
    await runner.cleanup()
    log.info("Application shutdown complete.")
    return 0


def _stop_event(signals: Sequence[signal.Signals]) -> asyncio.Event:
    stop = asyncio.Event()
    for number in signals:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def _memory_arguments(arguments: Arguments, plan: EnginePlan) -> dict[str, float]:
    share = arguments.gpu_memory_utilization
    return {
        "gpu_memory_utilization": plan.profile.memory.default_utilization if share is None else share,
        "max_model_len": plan.max_model_len,
        "max_num_seqs": plan.max_num_seqs,
    }


async def _start(arguments: Arguments, plan: EnginePlan, faults: Faults) -> None:
    log_settings(plan)
    flood = faults.of_life("log_flood")
    if flood:
        for _ in range(int(flood.size_mib * 4096)):
            sys.stdout.write(_FLOOD_LINE + "\n")
    for full in faults.all_of_life("memory_until_lowered"):
        if message := memory_message(full, _memory_arguments(arguments, plan)):
            die(full, message)
    crash = faults.of_life("crash_at_start")
    if crash:
        die(crash)
    if faults.of_life("hang_at_start"):
        await asyncio.Event().wait()
    if faults.of_life("silent_port"):
        with listening(arguments.host, arguments.port):
            await asyncio.Event().wait()
    await asyncio.sleep(plan.profile.start_s * plan.profile.time_scale)
    log_memory(plan)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
