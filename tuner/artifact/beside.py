"""What stands beside a recommendation: where it holds, what it costs, what it changes, what to watch."""

from __future__ import annotations

from enum import StrEnum

from tuner.artifact.figures import MeasuredFigure, Number
from tuner.artifact.part import Part
from tuner.records import Json, SameOutput


class Speculation(Part):
    """One setting of speculative decoding, as vLLM names its keys.

    method: how tokens are drafted.  draft: as the user wrote it, null without a model.  num_speculative_tokens: K.
    options: further keys of vLLM's --speculative-config.
    """

    method: str
    draft: str | None
    num_speculative_tokens: int
    options: dict[str, Json]


class ConcurrencyLimit(Part):
    """For `speculate_below`, which no engine has a switch for: the setting that pays up to a concurrency.

    up_to_concurrency: the largest measured one at which it pays.  slower_at_concurrency: the lowest measured one above
    at which it does not.  serve_config: the file that starts it.  speculation, engine_args: what that file holds.
    max_num_seqs: what to start it with so that it cannot run more at once, where nothing else limits the load.
    advice: routing, in words.
    """

    up_to_concurrency: int
    slower_at_concurrency: int | None
    serve_config: str
    speculation: Speculation
    engine_args: dict[str, Json]
    max_num_seqs: int
    advice: tuple[str, ...]


class ChosenBy(StrEnum):
    """What put the setting into serve_config.

    SCHEDULE: it has a K schedule, which was measured to be slower nowhere.  TRAFFIC: it is the best single one over the
    traffic's load points.
    """

    VERDICT = "verdict"
    SCHEDULE = "schedule"
    TRAFFIC = "traffic"


class Recommended(Part):
    """What to deploy.

    serve_config: the file that starts it, beside the artifact.  speculation, engine_args: what that file holds, with
    the models as the user wrote them.  static_serve_config, static_speculation: the same draft at one K, where that has
    a K schedule.  baseline_serve_config: the way back, without speculation.  chosen_by: the verdict, a K schedule that
    was measured to be slower nowhere, or the traffic as a whole.  limit: of `speculate_below` alone, with the setting
    that pays up to it.  up_to_concurrency, slower_at_concurrency: as there.
    """

    serve_config: str
    static_serve_config: str | None
    static_speculation: Speculation | None = None
    baseline_serve_config: str
    chosen_by: ChosenBy
    speculation: Speculation | None
    engine_args: dict[str, Json]
    up_to_concurrency: int | None
    slower_at_concurrency: int | None
    limit: ConcurrencyLimit | None


class Lengths(Part):
    """Lengths in tokens.

    min, median, max: over the requests.  n: how many requests.
    """

    min: int
    median: Number
    max: int
    n: int


class Validity(Part):
    """Where the answer was measured; outside of it nothing is claimed.

    temperature: of the sampling.  concurrency: those measured, ascending; between two of them nothing was.
    eval_sets: names of the prompts' sets.  prompt_tokens, answer_tokens: as the engine counted them, null where that
    is not known.  max_model_len: the longest context that was served.
    """

    temperature: Number
    concurrency: tuple[int, ...]
    prompt_tokens: Lengths | None
    answer_tokens: Lengths | None
    eval_sets: tuple[str, ...]
    max_model_len: int | None


class Room(Part):
    """Memory of one setting.  null: not known.

    kv_cache_tokens: the smallest of several lives.  max_num_seqs: most sequences at once, by the engine's setting.
     full_length_requests: requests of max_model_len
    tokens that the KV cache holds.  peak_device_memory_bytes: the most that was seen under load, over the trial's GPUs.
    """

    kv_cache_tokens: int | None
    max_num_seqs: int | None
    full_length_requests: Number | None
    peak_device_memory_bytes: int | None


class Capacity(Part):
    """Memory with and without speculation.

    with_speculation, without_speculation: of that setting.  null: no such setting is recommended, or it was not
    measured.
    """

    with_speculation: Room | None
    without_speculation: Room | None


class Lossless(Part):
    """Whether the answers are the target's own.

    verdict: the worst one of all load points.  evidence: what it rests on, in words.
    """

    verdict: SameOutput
    evidence: tuple[str, ...]


class DragsAlong(Part):
    """What the engine changes by itself once it speculates.

    changes: known ones, by name.  engine_args, env: what gives an engine without speculation the same settings.
    others: in the engine's own words.
    """

    changes: tuple[str, ...]
    engine_args: dict[str, Json]
    env: dict[str, str]
    others: tuple[str, ...]


class RequestEffect(StrEnum):
    """What becomes of a request that uses a feature.

    REFUSED: answered with an error.  IGNORED: answered as if it had not asked.  NOT_DRAFTED: answered, without drafts.
    """

    REFUSED = "refused"
    IGNORED = "ignored"
    NOT_DRAFTED = "not_drafted"


class RequestFeature(Part):
    """A request parameter that does not go together with the recommended speculation in this engine version.

    name: of the parameter.  effect: what becomes of a request that uses it.  what: the same in words.
    """

    name: str
    effect: RequestEffect
    what: str


class AcceptanceAlert(Part):
    """What the acceptance length in production should stay within; rules_file has it as Prometheus rules.

    low, high: tokens a draft, the bonus token included.  measured: over all prompts, its interval with the prompts as a
    sample.  prompts_sd: standard deviation between prompts.  least_drafts: fewer than so many drafts in `window` prove
    nothing.  window: of the rules, a Prometheus duration.  rules_file: beside the artifact.  why: how the range was
    found.
    """

    low: Number
    high: Number
    measured: MeasuredFigure
    prompts_sd: Number | None
    least_drafts: int
    window: str
    rules_file: str
    why: str
