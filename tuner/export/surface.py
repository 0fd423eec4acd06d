"""The best K by concurrency, the crossover and the gain over the traffic, as the artifact has them."""

from __future__ import annotations

from typing import Any

from tuner.artifact import measured
from tuner.export.values import measured_figure, rounded
from tuner.records import Answer, BestK, Crossover, Effect, Findings


def by_concurrency(answer: Answer) -> tuple[measured.BestAt, ...] | None:
    """Return the best K at each measured concurrency, None where there is none."""
    surface = answer.surface
    if surface is None or not surface.best:
        return None
    return tuple(measured.BestAt(concurrency=at, **_best(best)) for at, best in surface.best.items())


def crossovers(answer: Answer) -> measured.Crossovers | None:
    """Return where speculation pays and where it is slower: with the best K at each concurrency, and with one K."""
    surface = answer.surface
    if surface is None or len(surface.concurrencies) < 2 or not surface.best:
        return None
    held = surface.static and (surface.static.best if surface.static.best.k else surface.static.fastest)
    return measured.Crossovers(
        best_k_at_each=measured.Crossover(**_effects(surface.crossover)),
        one_k=measured.CrossoverOf(of=held.label, **_effects(surface.static_crossover)) if held else None,
    )


def traffic(findings: Findings, answer: Answer) -> measured.Traffic | None:
    """Return what the best single K brings over the traffic, None where the space names no traffic."""
    covered = findings.traffic.get(answer.temperature)
    if covered is None:
        return None
    static = answer.surface.static if answer.surface else None
    return measured.Traffic(
        source=covered.traffic.source or "the search space",
        shares={str(concurrency): rounded(share) for concurrency, share in covered.shares.items()},
        not_covered=rounded(covered.beyond),
        one_k=measured.Best(**_best(static)) if static else None,
    )


def _best(best: BestK) -> dict[str, Any]:
    """Return the best K, 0 for none; then the speedup is that of the nearest."""
    return {
        "effect": best.effect,
        "best_k": best.best.k,
        "draft": best.best.draft_name if best.best.k else None,
        "engine_args": dict(best.best.engine_args),
        "not_excluded": tuple(candidate.label for candidate in best.not_excluded),
        "engine_lives": best.lives,
        "speedup": measured_figure(best.speedup),
        "speedup_of": None if best.best.k else best.fastest.label,
    }


def _effects(crossover: Crossover) -> dict[str, Any]:
    return {f"{effect.value}_at": crossover.at(effect) for effect in Effect}
