"""Where speculation stops paying, as a person would say it."""

from __future__ import annotations

import pytest

from tuner.explain.load import crossover_lines
from tuner.records import Crossover, Effect

PAYS, UNCLEAR, SLOWER = Effect.PAYS, Effect.UNCLEAR, Effect.SLOWER


@pytest.mark.parametrize(
    ("effects", "key", "values"),
    [
        ({1: PAYS, 8: PAYS}, "load.above", {"last": "8"}),
        ({1: PAYS, 8: UNCLEAR}, "load.unclear_above_one", {}),
        ({1: PAYS, 4: PAYS, 8: UNCLEAR, 32: UNCLEAR}, "load.unclear_above", {"last": "4"}),
        ({1: PAYS, 8: UNCLEAR, 32: SLOWER}, "load.between", {"low": "1", "high": "32"}),
    ],
)
def test_where_it_stops_paying(effects: dict[int, Effect], key: str, values: dict[str, str]) -> None:
    said = list(crossover_lines(Crossover(effects)))[-1]
    assert (said.key, dict(said.values)) == (key, values)


@pytest.mark.parametrize("effects", [{1: UNCLEAR, 8: PAYS}, {1: PAYS, 4: UNCLEAR, 8: PAYS}, {1: SLOWER, 8: PAYS}])
def test_an_end_is_not_guessed_at(effects: dict[int, Effect]) -> None:
    keys = [said.key for said in crossover_lines(Crossover(effects))]
    assert keys == ["load.effects"]
