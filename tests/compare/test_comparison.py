"""Two sweeps of known engines compared as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.compare.sides import BASE_S, at_concurrencies, built_side, config_of, trials_of
from tests.conftest import LOAD
from tuner.compare.comparison import Comparison, compare
from tuner.compare.figures import FigureName
from tuner.compare.from_artifact import side_of
from tuner.compare.from_records import with_records
from tuner.compare.judged import Row
from tuner.compare.rule import Outcome
from tuner.compare.sides import Side
from tuner.compare.tolerances import Tolerances
from tuner.compare.words import open_words, sentence
from tuner.errors import InputError
from tuner.records import Protocol, Trial

B, S, W, X = Outcome.BETTER, Outcome.SAME, Outcome.WORSE, Outcome.CANNOT_TELL


def row(found: Comparison, figure: FigureName) -> Row:
    return next(row for row in found.rows if row.figure == figure)


def codes(found: Comparison) -> set[str]:
    return {cause.code for cause in found.causes}


def test_a_sweep_of_the_same_engine_is_the_same_in_every_figure() -> None:
    found = compare(built_side(), built_side("new"))
    assert found.outcome is S
    assert {one.outcome for one in found.rows} == {S}
    assert codes(found) == set()
    assert sentence(found) == "Speculation is as it was; the engine's baseline is as fast as it was."


def test_fewer_accepted_tokens_are_speculation_getting_worse() -> None:
    # Tokens per step 2.4 -> 2.16 and everything else as it was, so TPOT rises by the same tenth.
    found = compare(built_side(), built_side("new", acceptance=(0.7, 0.46), speedup=1.35))
    assert (found.outcome, codes(found)) == (W, {"acceptance_fell"})
    assert (found.conclusion.speculation, found.conclusion.engine) == (W, S)
    assert row(found, "acceptance_length").ratio.value == pytest.approx(0.9, rel=2e-3)
    assert (row(found, "step_cost").outcome, row(found, "baseline_tpot").outcome) == (S, S)
    assert sentence(found).startswith("Speculation got worse (fewer tokens are accepted: acceptance length 0.899x")


def test_a_faster_engine_is_no_better_speculation() -> None:
    found = compare(built_side(), built_side("new", base=BASE_S / 1.1, ttft=0.1 / 1.15))
    assert (found.outcome, codes(found)) == (B, {"baseline_faster"})
    assert (found.conclusion.speculation, found.conclusion.engine) == (S, B)
    assert row(found, "speedup").outcome is S


def test_both_at_once_are_told_apart_where_tpot_alone_shows_nothing() -> None:
    found = compare(built_side(), built_side("new", base=BASE_S * 0.9, acceptance=(0.7, 0.46), speedup=1.35))
    assert row(found, "tpot").outcome is S
    assert (found.outcome, codes(found)) == (W, {"acceptance_fell", "baseline_faster"})
    assert (found.conclusion.speculation, found.conclusion.engine) == (W, B)
    text = sentence(found)
    assert text.index("Speculation got worse") < text.index("the engine's baseline got faster")


def test_a_baseline_that_alone_got_faster_makes_nobody_slower() -> None:
    new = built_side("new", base=BASE_S * 0.9, speedup=1.35)
    found = compare(built_side(), new)
    assert row(found, "speedup").outcome is W
    assert not row(found, "speedup").decides
    assert row(found, "tpot").outcome is S
    assert (found.outcome, codes(found)) == (S, {"baseline_faster", "step_did_not_follow"})
    assert found.conclusion.speculation is S
    # Whoever wants the speedup to decide all the same writes down what decides.
    strict = Tolerances(decides=("acceptance_length", "speedup", "tpot", "ttft"))
    assert compare(built_side(), new, strict).outcome is W


def test_a_dearer_step_is_speculation_getting_worse() -> None:
    found = compare(built_side(), built_side("new", speedup=1.35))
    assert (found.outcome, codes(found)) == (W, {"step_dearer"})
    assert found.conclusion.speculation is W


def test_exchanging_the_sweeps_exchanges_better_and_worse() -> None:
    old, new = built_side(), built_side("new", acceptance=(0.7, 0.46), speedup=1.35)
    there, back = compare(old, new), compare(new, old)
    mirrored = {B: W, W: B, S: S, X: X}
    assert [mirrored[one.outcome] for one in there.rows] == [one.outcome for one in back.rows]
    assert (back.outcome, codes(back)) == (B, {"acceptance_rose"})


def test_noise_leaves_it_open_and_says_what_would_settle_it() -> None:
    noisy = (0.96, 1.0, 1.04)
    found = compare(built_side(wobble=noisy), built_side("new", wobble=noisy))
    assert found.outcome is X
    assert row(found, "tpot").outcome is X
    assert row(found, "acceptance_length").outcome is S
    needed = row(found, "tpot").needs_lives
    assert needed is not None and 3 < needed < 100
    assert (
        f"`protocol: lives: {max(one.needs_lives or 0 for one in found.rows if one.decides)}`" in open_words(found)[0]
    )


def test_one_engine_life_gives_times_no_interval_but_counts_acceptance() -> None:
    once = Protocol()
    trials = [trials_of(wobble=(), acceptance=accepted) for accepted in ((0.8, 0.6), (0.6, 0.4))]
    old, new = (with_records(side_of("x", config_of(one, protocol=once)), one) for one in trials)
    found = compare(old, new)
    assert row(found, "tpot").outcome is X
    assert row(found, "tpot").ratio.low is None
    assert row(found, "acceptance_length").outcome is W
    assert "within one engine life" in row(found, "acceptance_length").note
    assert any("have no interval" in line for line in open_words(found))


def test_artifacts_alone_say_the_same_as_their_records() -> None:
    changed = {"base": BASE_S * 0.9, "acceptance": (0.7, 0.46), "speedup": 1.35}
    full = compare(built_side(), built_side("new", **changed))  # type: ignore[arg-type]
    files = compare(built_side(records=False), built_side("new", records=False, **changed))  # type: ignore[arg-type]
    assert files.outcome is full.outcome
    assert codes(files) == codes(full)
    for ours, theirs in zip(full.rows, files.rows, strict=True):
        assert theirs.outcome is ours.outcome, ours.figure
        assert theirs.ratio.value == pytest.approx(ours.ratio.value, rel=1e-4)


def test_only_common_load_points_are_compared_and_the_others_named() -> None:
    first, second, third = at_concurrencies(1, 2, 8)
    old, new = built_side(loads=(first, second)), built_side("new", loads=(second, third))
    found = compare(old, new)
    assert {one.load_point for one in found.rows} == {second}
    assert found.not_compared == (f"{third.label}: NEW alone has it", f"{first.label}: OLD alone has it")


def test_another_eval_set_of_the_same_name_is_no_common_load_point() -> None:
    old, new = (built_side(eval_sets={"chat": digits}) for digits in ("aa", "bb"))
    with pytest.raises(InputError) as raised:
        compare(old, new)
    assert raised.value.exit_code == 2
    assert "no load point in common" in raised.value.message
    assert "the eval set chat has other content" in raised.value.message
    assert "--eval-set" in raised.value.next_step
    assert compare(old, built_side(eval_sets={"chat": "aa"})).not_compared == ()


def test_advice_against_speculation_is_deployed_as_the_baseline() -> None:
    found = compare(built_side(), built_side("new", speedup=0.8))
    speedup, tpot = row(found, "speedup"), row(found, "tpot")
    assert (speedup.new.value, speedup.of) == (1.0, "good K=2 -> no speculation")
    assert speedup.ratio.value == pytest.approx(1 / 1.5)
    assert tpot.ratio.value == pytest.approx(1.5)
    assert found.outcome is W
    assert found.best[0].changed
    # What the draft did is compared all the same.
    assert row(found, "acceptance_length").outcome is S


def test_where_neither_speculates_the_engine_alone_is_compared() -> None:
    found = compare(built_side(speedup=0.8), built_side("new", speedup=0.8, base=BASE_S * 0.9))
    assert [one.figure for one in found.rows] == ["tpot", "ttft"]
    assert {one.of for one in found.rows} == {"no speculation"}
    assert (found.outcome, found.conclusion.speculation, found.conclusion.engine) == (B, None, B)


def test_another_best_k_is_compared_as_deployed_and_acceptance_like_for_like() -> None:
    longer = (0.8, 0.6, 0.45)

    def both(best_first: bool) -> Side:
        fast, slow = (1.5, 1.4) if best_first else (1.4, 1.5)
        trials = trials_of(speedup=fast)
        others = trials_of(speedup=slow, acceptance=longer)
        more = [one for one in others if one.record.candidate.k]
        trials += [renumbered(one, 100) for one in more]
        return with_records(side_of("x", config_of(trials)), trials)

    found = compare(both(best_first=True), both(best_first=False))
    assert found.best[0].old == "speculate: good K=2"
    assert found.best[0].new == "speculate: good K=3"
    assert row(found, "speedup").of == "good K=2 -> good K=3"
    assert row(found, "speedup").outcome is S
    acceptance = row(found, "acceptance_length")
    assert (acceptance.of, acceptance.outcome) == ("good K=2", S)


def renumbered(trial: Trial, by: int) -> Trial:
    return replace(trial, record=replace(trial.record, number=trial.record.number + by))


def test_the_error_is_shared_by_what_can_claim_something() -> None:
    found = compare(built_side(), built_side("new"))
    assert found.confidences.deciding == pytest.approx(1 - 0.05 * 0.8 / 4)
    assert found.confidences.explaining == pytest.approx(1 - 0.05 * 0.2 / 3)
    everything = compare(
        built_side(loads=at_concurrencies(1, 8)),
        built_side("new", loads=at_concurrencies(1, 8)),
        Tolerances(decides=("acceptance_length",)),
    )
    assert everything.confidences.deciding == pytest.approx(1 - 0.05 * 0.8 / 2)
    assert everything.confidences.explaining == pytest.approx(1 - 0.05 * 0.2 / 12)


def test_a_sweep_that_ends_as_soon_as_it_is_sure_is_believed_less() -> None:
    trials = trials_of()
    adaptive = Protocol(lives=3, max_lives=12)
    side = with_records(side_of("x", config_of(trials, protocol=adaptive)), trials)
    assert side.confidence > 0.95
    assert compare(built_side(), side).confidences.deciding > compare(built_side(), built_side()).confidences.deciding


def test_a_prompt_that_failed_in_one_sweep_is_left_out_of_both() -> None:
    lost = trials_of()
    first = next(i for i, trial in enumerate(lost) if trial.record.round == 0 and trial.record.candidate.k)
    kept = tuple(one for one in lost[first].samples if one.prompt_id != "p00")
    lost[first] = replace(lost[first], samples=kept)
    found = compare(built_side(), with_records(side_of("new", config_of(lost)), lost))
    assert "1 prompts were not answered" in row(found, "tpot").note
    assert found.outcome is S


def test_an_unfinished_sweep_is_said() -> None:
    side = built_side("new")
    open_side = replace(side, config=side.config.model_copy(update={"finished": False}))
    assert "NEW is of a sweep that was not finished" in compare(built_side(), open_side).notes


def test_load_points_with_other_weights_are_the_same() -> None:
    heavy = built_side("new", loads=(replace(LOAD, weight=3.0),))
    assert compare(built_side(), heavy).not_compared == ()


def test_an_inconclusive_sweep_is_held_against_the_setting_that_the_other_recommends() -> None:
    noisy = trials_of(speedup=1.02, wobble=(0.9, 1.0, 1.1))
    new = with_records(side_of("new", config_of(noisy)), noisy)
    assert new.answers[0].verdict.value == "inconclusive"
    found = compare(built_side(), new)
    speedup = row(found, "speedup")
    assert (speedup.of, speedup.outcome) == ("good K=2", X)
    assert speedup.ratio.value == pytest.approx(1.02 / 1.5, rel=1e-2)
    assert row(found, "acceptance_length").outcome is S


def test_an_inconclusive_sweep_without_that_setting_claims_nothing() -> None:
    noisy = trials_of(speedup=1.02, wobble=(0.9, 1.0, 1.1), draft="other")
    new = with_records(side_of("new", config_of(noisy)), noisy)
    found = compare(built_side(), new)
    assert row(found, "speedup").ratio.value is None
    assert "the sweep was inconclusive and recommends nothing" in row(found, "speedup").note
    assert found.outcome is X


def test_of_a_setting_with_one_fresh_life_its_single_life_counts_for_acceptance_too() -> None:
    trials = trials_of()
    only = [one for one in trials if not (one.record.candidate.k and one.record.round in (1, 2))]
    noisy = config_of(trials_of(speedup=1.02, wobble=(0.9, 1.0, 1.1)))
    side = with_records(side_of("new", noisy), only)
    arm = next(iter(side.loads[0].arms.values()))
    assert len(arm["acceptance_length"].lives) == 2
    assert arm["tpot"].lives == ()
