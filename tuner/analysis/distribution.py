"""Whether two arms sample from one distribution: a permutation test on the first tokens of many short answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from tuner.records import DISTRIBUTION_REPEAT, LoadPoint, RequestSample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Answers = Sequence[tuple[int, ...]]

ERROR_RATE = 0.01
"""Chance that a trial whose distribution is the baseline's own is called different."""
MAX_PROMPTS = 16
ANSWER_TOKENS = 4
PREFIXES = (1, 2, 4)
"""The first token comes from the prompt's own pass, before anything is drafted: a fault of speculation shows later."""

_RARE = 5  # Categories seen less often than this in both arms together are counted as one.
_EPSILON = 1e-9  # Equal tables must have equal sums, whatever the order of the summands.
_BATCHES = (200, 1800, 8000)
_ENOUGH = 20  # So many permutations as extreme as what was seen, and more of them could not make it significant.


def distribution_groups(load_points: Sequence[LoadPoint]) -> tuple[tuple[LoadPoint, ...], ...]:
    """Return the load points above temperature 0 in groups of one eval set and one sampling.

    One set of sampled answers serves a group. In each the highest concurrency comes first.
    """
    groups: dict[tuple[object, ...], list[LoadPoint]] = {}
    for load in load_points:
        if load.sampling.temperature > 0.0:
            groups.setdefault((load.eval_set, load.sampling, load.ignore_eos), []).append(load)
    return tuple(tuple(sorted(group, key=lambda load: -load.concurrency)) for group in groups.values())


def first_tokens(samples: Iterable[RequestSample], keys: Set[str]) -> dict[str, list[tuple[int, ...]]]:
    """Return by prompt the token ids of the answers that were sampled for this test at load points with these keys."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for sample in samples:
        if sample.repeat == DISTRIBUTION_REPEAT and sample.load_point in keys and sample.ok and sample.token_ids:
            found.setdefault(sample.prompt_id, []).append(sample.token_ids)
    return found


def prefix_test(pairs: Mapping[str, tuple[Answers, Answers]], seed: int = 0) -> float:
    """Return the p-value that both arms draw from one distribution, for each prompt.

    For each length of prefix: per prompt Pearson's chi-square of the 2 x categories table, summed over prompts; its
    distribution comes from exchanging answers between the arms within each prompt, so no approximation for small counts
    is needed. The smallest p-value times the number of lengths (Bonferroni). p = (1 + as extreme) / (1 + permutations),
    which is never too small (Phipson and Smyth 2010).
    """
    import numpy as np

    p_values = []
    for length in PREFIXES:
        tables = [_table(mine, theirs, length) for mine, theirs in pairs.values()]
        rng = np.random.default_rng([seed, length])
        p_values.append(_permutation_p([table for table in tables if table.shape[1] > 1], rng))
    return min(1.0, len(PREFIXES) * min(p_values))


def _table(mine: Answers, theirs: Answers, length: int) -> NDArray[np.int64]:
    """Return a row of counts for each arm, rare categories put together.

    Which ones are rare is seen from both arms together, so that exchanging answers does not change it.
    """
    import numpy as np

    rows = [Counter(tokens[:length] for tokens in arm) for arm in (mine, theirs)]
    both = rows[0] + rows[1]
    common = [category for category, count in both.items() if count >= _RARE]
    counts = [[row[category] for category in common] for row in rows]
    table = np.array([[*row, len(arm) - sum(row)] for row, arm in zip(counts, (mine, theirs), strict=True)])
    return table[:, table.sum(axis=0) > 0]


def _permutation_p(tables: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> float:
    import numpy as np

    if not tables:
        return 1.0
    seen = sum(float(_chi_square(table[0], table)) for table in tables)
    extreme = done = 0
    for batch in _BATCHES:
        sums = np.zeros(batch)
        for table in tables:
            drawn = rng.multivariate_hypergeometric(table.sum(axis=0), int(table[0].sum()), size=batch)
            sums += _chi_square(drawn, table)
        extreme += int(np.count_nonzero(sums >= seen - _EPSILON))
        done += batch
        if extreme >= _ENOUGH:
            break
    return (1 + extreme) / (1 + done)


def _chi_square(first: NDArray[np.int64], table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return Pearson's chi-square of tables with these first rows and the margins of `table`.

    The two cells of a category miss their expectation by one and the same d: d^2 (1/e_1 + 1/e_2).
    """
    totals = table.sum(axis=0)
    size, other = table.sum(axis=1)
    expected = totals * size / (size + other)
    missed = (first - expected) ** 2
    result: NDArray[np.float64] = (missed / expected + missed / (totals - expected)).sum(axis=-1)
    return result
