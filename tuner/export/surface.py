"""The best K by concurrency, the crossover and the gain over the traffic, as the artifact has them."""

from __future__ import annotations

from tuner.export.values import figure_json, plain_value
from tuner.records import Answer, BestK, Coverage, Crossover, Effect, Findings, Json


def by_concurrency_json(answer: Answer) -> Json:
    """Return the best K at each measured concurrency, None where there is none."""
    surface = answer.surface
    if surface is None or not surface.best:
        return None
    return [{"concurrency": concurrency, **_best(best)} for concurrency, best in surface.best.items()]


def crossover_json(answer: Answer) -> Json:
    """Return where speculation pays and where it is slower: with the best K at each concurrency, and with one K."""
    surface = answer.surface
    if surface is None or len(surface.concurrencies) < 2 or not surface.best:
        return None
    held = surface.static and (surface.static.best if surface.static.best.k else surface.static.fastest)
    return {
        "best_k_at_each": _crossover(surface.crossover),
        "one_k": {"of": held.label, **_crossover(surface.static_crossover)} if held else None,
    }


def traffic_json(findings: Findings, answer: Answer) -> Json:
    """Return what the best single K brings over the traffic, None where the space names no traffic."""
    covered = findings.traffic.get(answer.temperature)
    if covered is None:
        return None
    static = answer.surface.static if answer.surface else None
    return {
        "source": covered.traffic.source or "the search space",
        "shares": _shares(covered),
        "not_covered": plain_value(covered.beyond),
        "one_k": _best(static) if static else None,
    }


def _shares(covered: Coverage) -> Json:
    return {str(concurrency): plain_value(share) for concurrency, share in covered.shares.items()}


def _best(best: BestK) -> dict[str, Json]:
    """Return the best K, 0 for none; then the speedup is that of the nearest."""
    found: dict[str, Json] = {
        "effect": best.effect.value,
        "best_k": best.best.k,
        "draft": best.best.draft_name if best.best.k else None,
        "engine_args": dict(best.best.engine_args),
        "not_excluded": [candidate.label for candidate in best.not_excluded],
        "engine_lives": best.lives,
        "speedup": figure_json(best.speedup),
    }
    return found if best.best.k else {**found, "speedup_of": best.fastest.label}


def _crossover(crossover: Crossover) -> dict[str, Json]:
    return {f"{effect.value}_at": list(crossover.at(effect)) for effect in Effect}
