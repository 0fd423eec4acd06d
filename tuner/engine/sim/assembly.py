"""Puts the parts of a simulated engine together: counters, noise, batch, endpoints."""

from __future__ import annotations

import asyncio

from aiohttp import web

from tuner.engine.sim.arguments import Arguments
from tuner.engine.sim.batch import Batch, Limits
from tuner.engine.sim.counters import EngineCounters
from tuner.engine.sim.faults import Faults
from tuner.engine.sim.noise import LifeNoise
from tuner.engine.sim.server import Identity, Server
from tuner.engine.sim.startup import EnginePlan
from tuner.engine.sim.work import Workshop

BATCH_TASK = web.AppKey("batch", asyncio.Task[None])
"""The application's step loop; it ends only by a fault of this program."""


def application(arguments: Arguments, plan: EnginePlan, faults: Faults) -> web.Application:
    """Return the server of one engine life; its batch steps from the application's start to its end."""
    profile, life = plan.profile, arguments.served_name
    speculation = None if faults.of_life("speculation_off") else plan.speculation
    noise = LifeNoise(profile.noise, profile.seed, life, speculation is not None)
    counters = EngineCounters(speculation.num_speculative_tokens if speculation else None)
    limits = Limits(plan.max_num_seqs, plan.kv_tokens, arguments.prefix_caching)
    batch = Batch(profile, plan.target, speculation, limits, counters, noise, faults)
    workshop = Workshop(profile, plan.target, speculation, noise.repeat_factor)
    identity = Identity(life, plan.target, profile.version, plan.max_model_len, arguments.api_key, arguments.log_stats)

    async def start_batch(app: web.Application) -> None:
        app[BATCH_TASK] = asyncio.create_task(batch.run())

    async def stop_batch(app: web.Application) -> None:
        app[BATCH_TASK].cancel()

    app = Server(identity, batch, workshop, counters, faults).application()
    app.on_startup.append(start_batch)
    app.on_cleanup.append(stop_batch)
    return app
