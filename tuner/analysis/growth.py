"""From the accepted runs of single steps to tokens per step at a smaller K. Arithmetic on counts, no records.

An answer is the tokens that each of its decode steps delivered (1 to k + 1: the accepted run and one more); the token
that the prefill gives is not among them. The last step may have accepted more than was still wanted: its run is known
to be at least one shorter than what it delivered.

Steps per answer are counted to its very end, because that is what a TPOT is made of: TPOT = t x steps / tokens.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from operator import mul

Steps = tuple[int, ...]
"""Tokens delivered by each decode step of one answer."""

PRIOR_STEPS = 5.0
"""A prompt's own rate counts against that of all prompts as if the latter had been seen so often on it."""
FALL_Z = 3.5
MEMORY_Z = 3.0


@dataclass(frozen=True)
class Places:
    """How often each place in a step was reached and accepted, on one prompt.

    reached[i], accepted[i]: steps in which i tokens were accepted and it is known whether the next one was, and those
    in which it was (i = 0 ... k - 1).
    after_full, after_rejection: (reached, accepted) of the first place alone, after a step that accepted all k tokens,
    and after one that did not.
    """

    reached: tuple[int, ...]
    accepted: tuple[int, ...]
    after_full: tuple[int, int]
    after_rejection: tuple[int, int]


def places(answers: Iterable[Steps], k: int) -> Places:
    """Return the counts of one prompt's answers. What the end of an answer cut off counts as neither yes nor no."""
    reached, accepted = [0] * k, [0] * k
    after = {True: [0, 0], False: [0, 0]}
    for steps in answers:
        for number, delivered in enumerate(steps):
            run = min(delivered - 1, k)
            judged = run if number == len(steps) - 1 else min(run + 1, k)
            for i in range(judged):
                reached[i] += 1
                accepted[i] += i < run
            if number and judged:
                of_first = after[steps[number - 1] == k + 1]
                of_first[0] += 1
                of_first[1] += run > 0
    return Places(tuple(reached), tuple(accepted), (after[True][0], after[True][1]), (after[False][0], after[False][1]))


# --- replay -----------------------------------------------------------------------------------------------------------


def matches(steps: Steps, k: int) -> list[bool | None]:
    """Return for each token of an answer whether the draft would have proposed it; None where nobody asked.

    An accepted token is a match, the token after a rejected one is none. Unknown are the token after k accepted ones,
    and the last one of the answer, which may be an accepted token or the target's own (and never matters: whichever it
    is, the step that comes to it ends there).
    """
    found: list[bool | None] = []
    for delivered in steps:
        found += [True] * (delivered - 1)
        found.append(None if delivered == k + 1 else False)
    found[-1:] = [None] * len(found[-1:])
    return found


def replayed_steps(found: Sequence[bool | None], k: int, unknown: float) -> float:
    """Return the expected number of steps that an answer takes at K = k.

    A step advances by the matches from its first token on, at most k, and one more. Each unknown token is a match with
    chance `unknown`, independently; a pass looks at a token at most once, so this is the mean over all completions.
    """
    chances = [unknown if match is None else float(match) for match in found]
    starts = [1.0] + [0.0] * (len(chances) + k)
    steps = 0.0
    for at in range(len(chances)):
        here = starts[at]
        if here == 0.0:
            continue
        steps += here
        for i, chance in enumerate(chances[at : at + k]):
            starts[at + i + 1] += here * (1.0 - chance)
            here *= chance
        starts[at + k + 1] += here
    return steps


def unknown_match_rates(by_prompt: Mapping[str, Places]) -> dict[str, float]:
    """Return per prompt the chance that the token after k accepted ones would have been proposed too.

    Asked of what comes nearest: the last place of a step, where k - 1 tokens were accepted before, and the first place
    after a step that accepted all. A prompt's own rate is drawn towards that of all prompts (PRIOR_STEPS).
    """
    near = {
        prompt: (counts.reached[-1] + counts.after_full[0], counts.accepted[-1] + counts.after_full[1])
        for prompt, counts in by_prompt.items()
    }
    reached, accepted = (sum(counts[i] for counts in near.values()) for i in (0, 1))
    overall = accepted / reached if reached else 0.5
    return {prompt: (hit + PRIOR_STEPS * overall) / (n + PRIOR_STEPS) for prompt, (n, hit) in near.items()}


def depends_on_place(by_prompt: Mapping[str, Places]) -> bool:
    """Whether a token's acceptance depends on its place in the step, so that replaying a step elsewhere misleads.

    A draft that sees the true text so far proposes the same token wherever a step begins. Its acceptance rises from
    place to place all the same: who comes far is in an easy passage. What tells a place's own effect from that is
    - a fall: acceptance given all before it is lower at a later place than at an earlier one, or
    - the first place after a step that accepted all is as easy a passage as the last place is, and yet its acceptance
      differs more from the last place's than from what a first place usually has.
    Each is a test within prompts (Mantel-Haenszel), so that easy and hard prompts do not look like such an effect.
    """
    prompts = list(by_prompt.values())
    width = len(prompts[0].reached) if prompts else 0
    at = [[(counts.reached[i], counts.accepted[i]) for counts in prompts] for i in range(width)]
    if any(stratified_z(at[early], at[late]) > FALL_Z for early, late in combinations(range(width), 2)):
        return True
    if width < 2:
        return False
    full = [counts.after_full for counts in prompts]
    from_last = abs(stratified_z(full, at[-1]))
    return from_last > MEMORY_Z and from_last > abs(stratified_z(full, [counts.after_rejection for counts in prompts]))


def stratified_z(first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]]) -> float:
    """Return the Mantel-Haenszel statistic of two rates, each given as (tried, hit) per stratum; positive if the first
    is higher. About standard normal where they are equal within strata; 0.0 where nothing can be compared."""
    excess = variance = 0.0
    for (n1, hit1), (n2, hit2) in zip(first, second, strict=True):
        n, hit = n1 + n2, hit1 + hit2
        if n1 and n2 and n > 1:
            excess += hit1 - n1 * hit / n
            variance += n1 * n2 * hit * (n - hit) / (n * n * (n - 1))
    return excess / math.sqrt(variance) if variance else 0.0


# --- acceptance by place ----------------------------------------------------------------------------------------------


def reach(counts: Places, everyone: Places) -> tuple[float, ...]:
    """Return the chance that at least 1, 2 ... k tokens are accepted (Kaplan-Meier's estimate).

    A running product of accepted / reached: a run that the answer's end cut off counts as far as it is known. Leaving
    such steps out would leave out long runs more often than short ones. A place that this prompt never reached takes
    everyone's rate.
    """
    chance, chances = 1.0, []
    for n, hit, n_all, hit_all in zip(
        counts.reached, counts.accepted, everyone.reached, everyone.accepted, strict=True
    ):
        chance *= hit / n if n else hit_all / n_all if n_all else 0.0
        chances.append(chance)
    return tuple(chances)


def expected_steps(reached: Sequence[float], tokens: int) -> float:
    """Return the expected number of steps until at least `tokens` tokens are there.

    reached: chance that a step accepts at least 1, 2 ... K tokens; steps are independent. Renewal equation: steps(n) =
    1 + sum over j of chance(j tokens) steps(n - j). Tends to tokens / (1 + sum of reached) for long answers; short ones
    take more, as their last step gives more than is wanted.
    """
    at_least = (1.0, *reached, 0.0)
    exactly = [one - more for one, more in pairwise(at_least)]
    steps = 0.0
    before = deque([steps], maxlen=len(exactly))
    for _ in range(tokens):
        steps = 1.0 + sum(map(mul, exactly, before))
        before.appendleft(steps)
    return steps
