"""The noise that the tuner has to cope with, by name, and its worlds: with an effect, without, and at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tests.truth.noise import Vector
from tests.truth.world import BASE_TPOT_S, TOKENS, Truth, World
from tuner.engine.sim.profile import Bursts, Drift, Noise
from tuner.records import Candidate, LoadPoint, Protocol, Speculation

PROTOCOL = Protocol(repeats=3, max_repeats=9, lives=4, max_lives=15)
"""What a search space has by default."""
PLAIN_LIFE_SD = 0.001
"""Of an engine without speculation, where only speculating ones differ from life to life."""
SHAPE = (0.6, 1.0, 1.0, 0.7)
"""Share of the effect that K = 1, 2, 3, 4 have."""
ALIKE = 16
"""Candidates of an A/A sweep."""
_STEP_SD = 0.1
_SWEEP_S = 9000.0
"""What such a sweep takes, about, on the simulated clock."""


@dataclass(frozen=True)
class Regime:
    """One kind of noise.

    effect: true speedup of the best candidate minus 1.  prompt_sd: of the log speedup over prompts.  follow: how often
    an inconclusive answer's advice is followed.  alike: whether A/A sweeps are run too.
    """

    name: str
    noise: Noise
    effect: float
    prompts: int = 12
    prompt_sd: float = 0.06
    concurrencies: tuple[int, ...] = (1, 8)
    follow: int = 0
    alike: bool = True


def _noise(life: float, repeat: float, *, both: bool = False, **more: object) -> Noise:
    plain = life if both else min(life, PLAIN_LIFE_SD)
    return Noise.model_validate(
        {
            "life_sd": plain,
            "speculative_life_sd": math.sqrt(life**2 - plain**2),
            "repeat_sd": repeat,
            "step_sd": _STEP_SD,
            **more,
        }
    )


_BURSTS = Bursts(period_s=120.0, duration_s=6.0, factor=1.5)
_DRIFT = Drift(amplitude=0.03, period_s=4 * _SWEEP_S)
_POWER = Regime("", Noise(), 0.03, prompts=96, prompt_sd=0.08, concurrencies=(1,), alike=False)

REGIMES: tuple[Regime, ...] = (
    Regime("steady", _noise(0.0, 0.01), 0.10),
    Regime("repeats_3", _noise(0.0, 0.03), 0.10, prompt_sd=0.3),
    Regime("lives_1", _noise(0.01, 0.01), 0.10, prompt_sd=0.3),
    Regime("lives_1_repeats_3", _noise(0.01, 0.03), 0.10),
    Regime("lives_5", _noise(0.05, 0.01), 0.10, prompt_sd=0.3, follow=4),
    Regime("lives_5_repeats_3", _noise(0.05, 0.03), 0.20, follow=4),
    Regime("lives_15", _noise(0.15, 0.01), 0.20, prompt_sd=0.3, follow=4),
    Regime("lives_15_repeats_3", _noise(0.15, 0.03), 0.10, follow=4),
    Regime("both_1", _noise(0.01, 0.01, both=True), 0.10),
    Regime("both_5", _noise(0.05, 0.01, both=True), 0.20, follow=4),
    Regime("both_15", _noise(0.15, 0.03, both=True), 0.20, prompt_sd=0.3, follow=4),
    Regime("drift", _noise(0.01, 0.01, drift=_DRIFT), 0.10),
    Regime("outliers", _noise(0.01, 0.01, outlier_rate=0.002, outlier_factor=5.0), 0.10),
    Regime("bursts", _noise(0.01, 0.01, bursts=_BURSTS), 0.10, prompt_sd=0.3),
    replace(_POWER, name="power_steady", noise=_noise(0.0, 0.01)),
    replace(_POWER, name="power_lives_1", noise=_noise(0.01, 0.01)),
    replace(_POWER, name="power_lives_1_repeats_3", noise=_noise(0.01, 0.03)),
    replace(_POWER, name="power_both_1_repeats_3", noise=_noise(0.01, 0.03, both=True)),
)


def loads_of(concurrencies: Sequence[int]) -> tuple[LoadPoint, ...]:
    """Return one load point for each concurrency, answers of one exact length."""
    return tuple(LoadPoint("truth", c, TOKENS, ignore_eos=True) for c in concurrencies)


def candidate(draft: str, k: int) -> Candidate:
    """Return a candidate with a draft model."""
    return Candidate({}, Speculation("draft_model", k, draft, f"/models/{draft}"))


def _base_s(random: np.random.Generator, prompts: int) -> Vector:
    return np.asarray(BASE_TPOT_S * np.exp(0.1 * random.standard_normal(prompts)))


def _at_random_time(noise: Noise, random: np.random.Generator) -> Noise:
    if noise.drift is None:
        return noise
    drift = noise.drift.model_copy(update={"phase_s": float(random.uniform(0.0, noise.drift.period_s))})
    return noise.model_copy(update={"drift": drift})


def effect_world(regime: Regime, seed: int) -> World:
    """Return a world with one draft whose best K have the regime's effect; each prompt has its own part in it.

    A prompt is as easy or hard for every K and at every load. The effect is that over these prompts: what differs from
    world to world is the mean of the population that they were drawn from.
    """
    random = np.random.default_rng([seed, 2])
    loads, own = loads_of(regime.concurrencies), regime.prompt_sd * random.standard_normal(regime.prompts)
    middle, keys = float(own.mean()), [load.key for load in loads]
    candidates = tuple(candidate("draft", k) for k in range(1, len(SHAPE) + 1))
    truths = {}
    for one, share in zip(candidates, SHAPE, strict=True):
        mean = share * math.log1p(regime.effect)
        logs, similar = mean - middle + own, mean - middle
        truths[one.key] = Truth(dict.fromkeys(keys, logs), dict.fromkeys(keys, similar))
    noise = _at_random_time(regime.noise, random)
    return World(loads, candidates, truths, _base_s(random, regime.prompts), noise, seed)


def alike_world(regime: Regime, seed: int) -> World:
    """Return a world in which two drafts with eight K each are all as fast as no speculation, for every prompt."""
    random = np.random.default_rng([seed, 3])
    loads = loads_of(regime.concurrencies)
    candidates = tuple(candidate(f"draft{i % 2}", i // 2 + 1) for i in range(ALIKE))
    none = Truth({load.key: np.zeros(regime.prompts) for load in loads}, {load.key: 0.0 for load in loads})
    noise = _at_random_time(regime.noise, random)
    return World(loads, candidates, {c.key: none for c in candidates}, _base_s(random, regime.prompts), noise, seed)


def random_world(seed: int) -> World:
    """Return a world of up to three drafts with true speedups between 0.5 and 2, noise of any regime, and faults.

    The log speedup falls with the concurrency and is bent in K, each draft in its own way; some surfaces are flat and
    close to 1, where errors are easy.
    """
    random = np.random.default_rng([seed, 4])
    loads, prompts = loads_of((1, 4, 16)), int(random.choice([6, 12, 18]))
    near = float(random.choice([1.0, 1.0, 0.15, 0.05]))
    prompt_sd = float(random.choice([0.06, 0.3]))
    truths, candidates = {}, []
    for draft in range(int(random.integers(1, 4))):
        peak, best = float(random.uniform(-0.4, 0.7)), float(random.uniform(1.0, 7.0))
        bend, fall = float(random.uniform(0.0, 0.05)), float(random.uniform(0.0, 0.3))
        own = prompt_sd * near * random.standard_normal(prompts)
        for k in sorted(random.choice(np.arange(1, 9), size=int(random.integers(1, 5)), replace=False).tolist()):
            one = candidate(f"draft{draft}", int(k))
            means = {}
            for load in loads:
                raw = peak - bend * (k - best) ** 2 - fall * math.log(load.concurrency) * k / 4
                means[load.key] = near * float(
                    np.clip(raw + 0.03 * random.standard_normal(), -math.log(2), math.log(2))
                )
            candidates.append(one)
            truths[one.key] = Truth({key: mean + own for key, mean in means.items()}, means)
    noises = [regime.noise for regime in REGIMES]
    noise = _at_random_time(noises[int(random.integers(len(noises)))], random)
    faults = bool(random.random() < 0.5)
    return World(
        loads,
        tuple(candidates),
        truths,
        _base_s(random, prompts),
        noise,
        seed,
        fails=0.1 if faults else 0.0,
        life_fails=0.05 if faults else 0.0,
        request_fails=0.0005 if faults else 0.0,
    )
