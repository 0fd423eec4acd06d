"""Which estimator a trial's records allow, and what it gives; on simulated and on recorded engines."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import LOAD, build_trial
from tuner.analysis.accepted import growth
from tuner.engine.resolve import resolve_engine
from tuner.records import (
    Candidate,
    Counters,
    EvalSet,
    Growth,
    GrowthSource,
    Json,
    LoadMeasurement,
    LoadPoint,
    Prompt,
    Protocol,
    Repeat,
    RequestSample,
    Role,
    Sampling,
    Speculation,
    Trial,
    WorkerFacts,
)
from tuner.store import read_run
from tuner.trial import TrialSpec, run_trial

RECORDED = Path(__file__).parents[1] / "data"
WARM = replace(LOAD, sampling=Sampling(temperature=0.8))


@dataclass(frozen=True)
class Answer:
    """runs: accepted tokens of each step as the engine counts them; tokens: how many of the answer's came from them."""

    runs: tuple[int, ...]
    tokens: int

    @property
    def steps(self) -> tuple[int, ...]:
        *earlier, _ = (run + 1 for run in self.runs)
        return (*earlier, self.tokens - sum(earlier))


def answered(match: Sequence[bool], k: int, tokens: int) -> Answer:
    """Return what an engine gives that stops after `tokens` tokens; `match` goes on beyond them."""
    runs, at = [], 0
    while at < tokens:
        run = 0
        while run < k and match[at + run]:
            run += 1
        runs.append(run)
        at += run + 1
    return Answer(tuple(runs), tokens)


def bernoulli(rate: float, seed: object, tokens: int = 300) -> list[bool]:
    draw = random.Random(str(seed)).random
    return [draw() < rate for _ in range(tokens)]


def request(load: LoadPoint, repeat: int, index: int, prompt: str, chunks: tuple[int, ...]) -> RequestSample:
    tokens = sum(chunks)
    times = tuple(0.1 + 0.02 * i for i in range(len(chunks)))
    return RequestSample(
        *(load.key, repeat, index, prompt, "x", 0.0, times[0], times[-1], 20, tokens, "length"),
        token_ids=tuple(range(tokens)),
        chunk_tokens=chunks,
        chunk_times_s=times,
    )


def merged(chunks: Sequence[int]) -> tuple[int, ...]:
    """Return the chunks of a server that was late once: its second and third step came together."""
    return (*chunks[:1], sum(chunks[1:3]), *chunks[3:])


def measured(
    load: LoadPoint, repeats: Sequence[Mapping[str, Answer]], k: int, late: Sequence[int] = (), coverage: float = 1.0
) -> tuple[LoadMeasurement, list[RequestSample]]:
    """Return a load point's measurement.  late: repeats whose chunks are not single steps.  coverage: D/S."""
    samples: list[RequestSample] = []
    passes = []
    for number, answers in enumerate(repeats):
        for index, (prompt, answer) in enumerate(answers.items()):
            chunks = (1, *answer.steps)
            samples.append(request(load, number, index, prompt, merged(chunks) if number in late else chunks))
        runs = [run for answer in answers.values() for run in answer.runs]
        by_place = tuple(sum(run > i for run in runs) for i in range(k))
        generated = sum(answer.tokens + 1 for answer in answers.values())
        steps = round(len(runs) / coverage)
        counted = Counters(generated, 20, len(answers), steps, 0, len(runs), k * len(runs), sum(by_place), by_place)
        passes.append(Repeat(number, 1.0, counted, len(answers), 0))
    return LoadMeasurement(load, tuple(passes), 0.1), samples


def trial_of(
    *parts: tuple[LoadMeasurement, list[RequestSample]],
    k: int,
    method: str = "draft_model",
    options: Mapping[str, Json] | None = None,
) -> Trial:
    trial = build_trial(k=k, method=method)
    speculation = trial.record.candidate.speculation
    assert speculation is not None
    record = replace(
        trial.record,
        candidate=Candidate({}, replace(speculation, options=options or {})),
        loads=tuple(measurement for measurement, _ in parts),
    )
    return Trial(record, tuple(sample for _, samples in parts for sample in samples))


def of(trial: Trial, load: LoadPoint = LOAD, chain: bool = True) -> Growth:
    return growth(trial, load, chain=chain, k=trial.record.candidate.k)


def mixture(k: int, tokens: int = 250) -> dict[str, Answer]:
    rates = [0.95] * 6 + [0.35] * 6
    return {f"p{i}": answered(bernoulli(rate, i), k, tokens) for i, rate in enumerate(rates)}


def mean_log(answers: Mapping[str, Answer]) -> float:
    return sum(math.log(a.tokens / len(a.runs)) for a in answers.values()) / len(answers)


# --- replay -----------------------------------------------------------------------------------------------------------


def test_two_answers_by_hand() -> None:
    # a: T T T ? T F F T T ?; the engine's last run was 3, of which the answer wanted two. b: three rejections.
    answers = {"a": Answer((3, 1, 0, 3), 10), "b": Answer((0, 0, 0), 3)}
    told = of(trial_of(measured(LOAD, [answers], 3), k=3))
    # Nearest to a's unknown token: the last place (1 of 1) and the first after a full step (1 of 1), drawn towards all
    # prompts, which are the same: 1. So K = 2 takes steps from 0, 3, 6, 7; K = 1 from 0, 2, 4, 6, 7, 9.
    assert told.logs == pytest.approx([math.log(10 / n) / 2 for n in (6, 4, 4)])
    assert (told.source, told.n, told.note) == (GrowthSource.REPLAY, 2, "")


@pytest.mark.parametrize("k", [4, 7])
def test_replay_tells_what_the_same_prompts_give_at_each_smaller_k(k: int) -> None:
    told = of(trial_of(measured(LOAD, [mixture(k)] * 2, k), k=k))
    assert told.source is GrowthSource.REPLAY
    for smaller in range(1, k):
        assert told.logs[smaller - 1] == pytest.approx(mean_log(mixture(smaller)), abs=0.01)
    assert told.logs[k - 1] == pytest.approx(mean_log(mixture(k)))


answer_lists = st.lists(
    st.builds(
        lambda match, tokens: (match, tokens),
        st.lists(st.booleans(), min_size=24, max_size=24),
        st.integers(1, 16),
    ),
    min_size=1,
    max_size=5,
)


@given(answer_lists, st.integers(1, 7), st.sampled_from([LOAD, WARM]), st.booleans())
def test_logs_never_fall_and_stay_in_their_bounds(
    matches: list[tuple[list[bool], int]], k: int, load: LoadPoint, late: bool
) -> None:
    answers = {f"p{i}": answered(match, k, tokens) for i, (match, tokens) in enumerate(matches)}
    told = of(trial_of(measured(load, [answers], k, late=[0] if late else []), k=k), load)
    assert len(told.logs) == k
    assert all(-1e-9 <= log <= math.log(i + 2) + 1e-9 for i, log in enumerate(told.logs))
    assert all(later >= earlier - 1e-9 for earlier, later in zip(told.logs, told.logs[1:], strict=False))
    if told.source is GrowthSource.REPLAY and not late:
        assert told.logs[k - 1] == pytest.approx(mean_log(answers))


def test_per_prompt_the_median_over_requests_counts_as_for_tpot() -> None:
    flips = [{"a": Answer((1,) * 5, 10)}, {"a": Answer((1,) * 5, 10)}, {"a": Answer((0,) * 10, 10)}]
    assert of(trial_of(measured(LOAD, flips, 1), k=1)).logs == pytest.approx([math.log(2)])


# --- where chunks are not steps ---------------------------------------------------------------------------------------


def test_repeats_of_the_same_answers_say_nothing_more_about_places() -> None:
    # Of 40 steps 30, 20 and 12 got so far: by chance the later places look harder.
    runs = ((3,) * 12 + (2,) * 8 + (1,) * 10 + (0,) * 10,)
    answers = {f"p{i}": Answer(of_prompt, sum(of_prompt) + 40) for i, of_prompt in enumerate(runs)}
    assert of(trial_of(measured(LOAD, [answers] * 20, 3), k=3)).source is GrowthSource.REPLAY
    other = {f"p{i}": Answer(runs[0][i:] + runs[0][:i], answers["p0"].tokens) for i in range(20)}
    assert of(trial_of(measured(LOAD, [other], 3), k=3)).source is GrowthSource.PROMPTS


def test_a_repeat_with_late_chunks_is_left_out() -> None:
    whole = of(trial_of(measured(LOAD, [mixture(4)], 4), k=4))
    assert of(trial_of(measured(LOAD, [mixture(4)] * 3, 4, late=[0, 2]), k=4)) == whole


def test_another_concurrency_with_the_same_requests_serves_as_well() -> None:
    crowd, other = replace(LOAD, concurrency=8, weight=2.0), replace(LOAD, max_tokens=99)
    alone = measured(LOAD, [mixture(4)], 4)
    late = measured(crowd, [mixture(4)], 4, late=[0])
    told = of(trial_of(late, alone, k=4), crowd)
    assert told.logs == of(trial_of(alone, k=4)).logs
    assert (told.source, told.note) == (
        GrowthSource.REPLAY,
        "chunks are not single steps here: told from concurrency 1",
    )
    assert of(trial_of(late, measured(other, [mixture(4)], 4), k=4), crowd).source is GrowthSource.POOLED


def test_counters_that_do_not_confirm_the_chunks_leave_only_themselves() -> None:
    measurement, samples = measured(LOAD, [mixture(4)], 4)
    (repeat,) = measurement.repeats
    drafts, by_place = repeat.counters.drafts or 0, repeat.counters.accepted_per_pos or ()
    for counters in (
        replace(repeat.counters, drafts=drafts + 10, draft_tokens=4 * drafts + 40),
        replace(repeat.counters, accepted_per_pos=(by_place[0] - 15, *by_place[1:])),
        # More than what the answers' ends can hide: one run of each request.
        replace(repeat.counters, accepted_per_pos=(by_place[0] + 30, *by_place[1:])),
    ):
        changed = replace(measurement, repeats=(replace(repeat, counters=counters),))
        assert of(trial_of((changed, samples), k=4)).source is GrowthSource.POOLED
    for chunks in (merged(samples[0].chunk_tokens), (2, *samples[0].chunk_tokens[1:])):
        # One step among hundreds, but plainly not one: more than K + 1 tokens, or more than the prefill's one.
        odd = replace(samples[0], chunk_tokens=chunks, completion_tokens=sum(chunks))
        assert of(trial_of((measurement, [odd, *samples[1:]]), k=4)).source is GrowthSource.POOLED
    no_ids = [replace(sample, chunk_tokens=(), token_ids=()) for sample in samples]
    assert of(trial_of((measurement, no_ids), k=4)).source is GrowthSource.POOLED


def test_the_pool_by_hand_and_what_it_gets_wrong() -> None:
    # D = 4: A_1 = 3, A_2 = 1. Two tokens: steps(2) = 1 + 1/4 x 1 at K = 1 and at K = 2.
    trial = trial_of(measured(LOAD, [{"a": Answer((2, 1), 2), "b": Answer((1, 0), 2)}], 2, late=[0]), k=2)
    told = of(trial)
    assert (told.source, told.n) == (GrowthSource.POOLED, 2)
    assert told.logs == pytest.approx([math.log(2 / 1.25)] * 2)
    assert "underestimates" in told.note
    pooled = of(trial_of(measured(LOAD, [mixture(6)], 6, late=[0]), k=6))
    assert max(abs(pooled.logs[smaller - 1] - mean_log(mixture(smaller))) for smaller in range(1, 7)) > 0.04


# --- where a replay does not hold -------------------------------------------------------------------------------------


def test_above_temperature_zero_each_prompts_acceptance_by_place_counts() -> None:
    # a: first place 3 of 4, second 2 of 3 (the last run is cut off after 1 token, and tells nothing).
    answers = {"a": Answer((2, 0, 1, 2, 2), 10), "b": Answer((0, 0, 0), 3)}
    told = of(trial_of(measured(WARM, [answers], 2), k=2), WARM)
    assert told.source is GrowthSource.PROMPTS
    assert "temperature" in told.note
    steps = [0.0]
    for n in range(1, 11):
        steps.append(1 + sum(p * steps[n - j] for j, p in ((1, 1 / 4), (2, 1 / 4), (3, 1 / 2)) if j < n))
    assert told.logs[1] == pytest.approx(math.log(10 / steps[10]) / 2)


def test_long_answers_give_one_plus_the_chances_of_each_place() -> None:
    answers = {f"p{i}": answered(bernoulli(0.7, i, 3010), 4, 3000) for i in range(4)}
    told = of(trial_of(measured(WARM, [answers], 4), k=4), WARM)
    for k in range(1, 5):
        assert told.logs[k - 1] == pytest.approx(math.log(sum(0.7**i for i in range(k + 1))), rel=0.02)


def test_the_place_in_the_step_and_lossy_acceptance_forbid_a_replay() -> None:
    rng = random.Random(1)
    by_place = (0.9, 0.6, 0.3)
    runs = {
        f"p{i}": tuple(next((j for j, p in enumerate(by_place) if rng.random() > p), 3) for _ in range(80))
        for i in range(10)
    }
    answers = {prompt: Answer(of_prompt, sum(of_prompt) + 80) for prompt, of_prompt in runs.items()}
    told = of(trial_of(measured(LOAD, [answers], 3), k=3))
    assert (told.source, told.note.split(":")[0]) == (
        GrowthSource.PROMPTS,
        "acceptance depends on the place in the step",
    )
    assert math.exp(told.logs[0]) == pytest.approx(1.9, rel=0.02)
    for method, source in (("synthetic", GrowthSource.PROMPTS), ("standard", GrowthSource.REPLAY)):
        trial = trial_of(measured(LOAD, [mixture(4)], 4), k=4, options={"rejection_sample_method": method})
        assert of(trial).source is source


# --- other methods ----------------------------------------------------------------------------------------------------


def test_ngram_has_coverage_besides() -> None:
    answers = {"a": Answer((2, 1), 1)}
    # D/S = 1/2; A_1/D = 1, A_2/D = 1/2: with 1 token wanted every K takes one step, with 2 half of them two.
    trial = trial_of(measured(LOAD, [answers], 2, coverage=0.5), k=2, method="ngram")
    assert of(trial, chain=False).logs == pytest.approx([0.0, 0.0])
    longer = {"a": Answer((2, 1), 2)}
    trial = trial_of(measured(LOAD, [longer], 2, coverage=0.5), k=2, method="ngram")
    told = of(trial, chain=False)
    assert told.logs == pytest.approx([math.log(2 / 1.5)] * 2)
    assert (told.source, "n-gram" in told.note) == (GrowthSource.POOLED, True)


@pytest.mark.parametrize("method", ["suffix", "dflash", "dspark", "custom_class"])
def test_other_methods_are_known_only_where_they_ran(method: str) -> None:
    told = of(trial_of(measured(LOAD, [mixture(4)], 4), k=4, method=method), chain=False)
    assert (told.logs, told.source, method in told.note) == ((), GrowthSource.NONE, True)


def test_short_proposals_are_no_rejections() -> None:
    measurement, samples = measured(LOAD, [mixture(2)], 2)
    told = growth(trial_of((measurement, samples), k=2), LOAD, chain=True, k=4)
    assert (told.logs, told.source) == ((), GrowthSource.NONE)
    assert "fewer than K" in told.note


def test_nothing_follows_from_nothing() -> None:
    baseline = build_trial(k=0)
    assert growth(baseline, LOAD, chain=False, k=0) == Growth()
    trial = trial_of(measured(LOAD, [mixture(2)], 2), k=2)
    assert of(trial, WARM).note == "nothing was measured"
    uncounted, samples = measured(LOAD, [mixture(2)], 2)
    (repeat,) = uncounted.repeats
    plain = replace(repeat, counters=Counters(10, 10, 1))
    for chain in (True, False):
        trial = trial_of(
            (replace(uncounted, repeats=(plain,)), samples), k=2, method="draft_model" if chain else "ngram"
        )
        told = of(trial, chain=chain)
        assert (told.logs, told.source) == ((), GrowthSource.NONE)
        assert "drafts" in told.note


# --- engines ----------------------------------------------------------------------------------------------------------

TALK = (
    LoadPoint(eval_set="talk", concurrency=1, max_tokens=250, ignore_eos=True),
    LoadPoint(eval_set="talk", concurrency=4, max_tokens=250, ignore_eos=True),
)
PROFILE = """
targets: [{match: '*', step_s: 0.0008}]
drafts: [{match: '*', acceptance: [0.75], prompt_sd: 1.5}]
"""


def simulated_life(directory: Path, k: int) -> Trial:
    (directory / "sim.yaml").write_text(PROFILE)
    prompts = tuple(Prompt(f"p{i}", "chat", prompt=f"Tell me about number {i}.") for i in range(12))
    spec = TrialSpec(
        number=k,
        role=Role.CANDIDATE,
        candidate=Candidate({"max_model_len": 2048}, Speculation("draft_model", k, "good", "good")),
        engine=resolve_engine(f"sim:{directory / 'sim.yaml'}"),
        target="target",
        load_points=TALK,
        eval_sets={"talk": EvalSet("talk", prompts, sha256="")},
        protocol=Protocol(repeats=1, max_repeats=1, warmup_requests=1),
        log_dir=str(directory / f"log-{k}"),
        env={},
    )
    return run_trial(spec, WorkerFacts(device_key="here", device="cpu", node="here"), report=lambda phase: None)


def test_one_life_of_a_simulated_engine_predicts_the_others(tmp_path: Path) -> None:
    lives = {k: simulated_life(tmp_path, k) for k in (1, 3, 6)}
    for load in TALK:
        told = of(lives[6], load)
        assert (told.source, told.n) == (GrowthSource.REPLAY, 12)
        for k in (1, 3, 6):
            assert told.logs[k - 1] == pytest.approx(of(lives[k], load).logs[k - 1], abs=0.005)


@pytest.mark.parametrize(
    ("run", "large", "small"), [("h200-7b", 2, [1]), ("h200-14b", 3, [1, 2]), ("h200-14b", 2, [1])]
)
def test_recorded_gpu_runs_predict_each_other(run: str, large: int, small: list[int]) -> None:
    """At concurrency 1, where answers do not depend on the batch; large, small: trial numbers of one draft."""
    trials = {trial.record.number: trial for trial in read_run(RECORDED / run)[1]}
    alone, *crowds = (measurement.load_point for measurement in trials[large].record.loads)
    told = of(trials[large], alone)
    assert (alone.concurrency, told.source, told.note) == (1, GrowthSource.REPLAY, "")
    for number in small:
        k = trials[number].record.candidate.k
        assert told.logs[k - 1] == pytest.approx(of(trials[number], alone).logs[k - 1], abs=0.005)
    assert all(of(trials[large], crowd).source is GrowthSource.REPLAY for crowd in crowds)
