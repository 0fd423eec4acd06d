"""`python -m tuner.engine.sim`: the simulated engine behind the command line of vLLM's API server."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Sequence

from aiohttp import web

from tuner.engine.sim.arguments import Arguments, parse_arguments, parse_speculation
from tuner.engine.sim.batch import Batch, Limits
from tuner.engine.sim.clock import exact_event_loop
from tuner.engine.sim.counters import EngineCounters
from tuner.engine.sim.faults import Faults, die, faults_of
from tuner.engine.sim.noise import LifeNoise
from tuner.engine.sim.profile import Profile, load_profile
from tuner.engine.sim.server import Identity, Server
from tuner.engine.sim.startup import EnginePlan, StartRefused, log_arguments, log_memory, log_settings, plan_engine
from tuner.engine.sim.work import Workshop
from tuner.errors import InputError
from tuner.records import Speculation

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
    except (ValueError, StartRefused, InputError) as error:
        log.error("Traceback (most recent call last):\n%s: %s", type(error).__qualname__, error)
        return 1
    faults = faults_of(profile, speculation, arguments.served_name)
    with asyncio.Runner(loop_factory=exact_event_loop) as runner:
        return runner.run(_live(arguments, plan, faults))


def _log_like_vllm() -> None:
    form = f"(APIServer pid={os.getpid()}) %(levelname)s %(asctime)s [%(filename)s:%(lineno)d] %(message)s"
    logging.basicConfig(format=form, datefmt="%m-%d %H:%M:%S", level=logging.INFO, stream=sys.stdout)


async def _live(arguments: Arguments, plan: EnginePlan, faults: Faults) -> int:
    stop = _stop_event(ignore=faults.of_life("ignore_term") is not None)
    await _start(plan, faults)
    runner = web.AppRunner(
        _application(arguments, plan, faults),
        handler_cancellation=True,
        access_log_format='%a - "%r" %s',
        shutdown_timeout=0.5,
    )
    await runner.setup()
    await web.TCPSite(runner, arguments.host, arguments.port, backlog=2048).start()
    # What was made so far lives as long as the process: no use in looking through it again and again.
    gc.freeze()
    log.info("Starting vLLM server on http://%s:%d", arguments.host, arguments.port)
    log.info("Started server process [%d]", os.getpid())
    log.info("Application startup complete.")
    await stop.wait()
    log.info("[shutdown] API server: shutdown triggered")
    await runner.cleanup()
    log.info("Application shutdown complete.")
    return 0


def _stop_event(ignore: bool) -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        if ignore:
            signal.signal(name, signal.SIG_IGN)
        else:
            loop.add_signal_handler(name, stop.set)
    return stop


async def _start(plan: EnginePlan, faults: Faults) -> None:
    log_settings(plan)
    flood = faults.of_life("log_flood")
    if flood:
        for _ in range(int(flood.size_mib * 4096)):
            sys.stdout.write(_FLOOD_LINE + "\n")
    crash = faults.of_life("crash_at_start")
    if crash:
        die(crash)
    if faults.of_life("hang_at_start"):
        await asyncio.Event().wait()
    await asyncio.sleep(plan.profile.start_s * plan.profile.time_scale)
    log_memory(plan)


def _application(arguments: Arguments, plan: EnginePlan, faults: Faults) -> web.Application:
    profile = plan.profile
    speculation = None if faults.of_life("speculation_off") else plan.speculation
    life = arguments.served_name
    noise = LifeNoise(profile.noise, profile.seed, life, speculation is not None)
    counters = EngineCounters(speculation.num_speculative_tokens if speculation else None)
    limits = Limits(plan.max_num_seqs, plan.kv_tokens)
    batch = Batch(profile, plan.target, speculation, limits, counters, noise, faults)
    workshop = _workshop(profile, plan.target, speculation, noise, faults)
    identity = Identity(life, plan.target, profile.version, plan.max_model_len, arguments.api_key)
    app = Server(identity, batch, workshop, counters, faults).application()
    app.on_startup.append(lambda app: _run_batch(app, batch))
    return app


def _workshop(
    profile: Profile, target: str, speculation: Speculation | None, noise: LifeNoise, faults: Faults
) -> Workshop:
    return Workshop(
        profile,
        target,
        speculation,
        lossy=faults.of_life("lossy") is not None,
        degenerate=faults.of_life("degenerate_text") is not None,
        repeat_factor=noise.repeat_factor,
    )


_BATCH_TASK = web.AppKey("batch", asyncio.Task)


async def _run_batch(app: web.Application, batch: Batch) -> None:
    app[_BATCH_TASK] = asyncio.create_task(batch.run())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
