"""What each section and each key of a search space means: the words of docs/reference/space.md."""

from __future__ import annotations

SECTIONS = {
    (): "What is tried, under which load, and how the result is judged.",
    ("drafts",): "Two drafts must differ in more than their name and their K.",
    ("load_points",): "Lists stand for every combination. An expanded load point must not appear twice.",
    (
        "protocol",
    ): "How each candidate is measured. All but `repeats` and `warmup_requests` can be changed between two calls: "
    "the sweep goes on with what it has.",
    ("objective",): "How results are judged. It can be changed between two calls: what was measured is judged anew.",
    ("objective", "limits"): "p95 latencies that a setting must not be above at any load point.",
    ("search",): "How the sweep chooses what to measure.",
    ("limits",): "Where a sweep stops beginning new candidates. They count from the start of each call.",
    ("traffic",): "How many requests run at once in production. One of the two.",
}
MEANINGS = {
    ("description",): "for people",
    ("target",): "the model, a [reference](../search-space.md#model-references). The command line overrides it; one of "
    "the two must name it",
    ("engine_args",): "vLLM's flags with underscores, the same for every candidate",
    ("unchecked_engine_args",): "flags that this tuner does not know yet; the engine's own `--help` must have them",
    ("choices",): "flags with several values to try: every combination, each with a baseline of its own",
    ("env",): "environment variables for the engine; no secrets",
    ("k",): "for drafts without their own",
    ("drafts",): "what to speculate with. At least one, here or by `--draft`",
    ("load_points",): "the traffic that is measured; at least one",
    ("protocol",): "how each candidate is measured",
    ("objective",): "how results are judged",
    ("search",): "how the sweep chooses what to measure",
    ("limits",): "where the sweep stops early",
    ("traffic",): "weights of the load points by concurrency",
    (
        "drafts",
        "name",
    ): "unique; letters, digits, `.`, `_`, `-`; not `none`. Without it the last part of the model's path "
    "or id, else the method",
    ("drafts", "method"): "one of the [methods](../methods.md)",
    (
        "drafts",
        "model",
    ): "a [reference](../search-space.md#model-references); required, optional or refused, depending on the method",
    ("drafts", "options"): "further keys of vLLM's `--speculative-config` ([list](../methods.md#options)), without "
    "`method`, `model` and `num_speculative_tokens`",
    ("drafts", "k"): "K to try with this draft, without it the file's `k`",
    ("load_points", "eval_set"): "a shipped name or a file",
    ("load_points", "temperature"): "production's; never chosen for speed. With several each gets an answer",
    ("load_points", "top_p"): "nucleus sampling; 1: all tokens",
    ("load_points", "top_k"): "-1: all tokens",
    ("load_points", "seed"): "each request gets it plus its place in the repeat",
    ("load_points", "concurrency"): "requests in flight",
    ("load_points", "max_tokens"): "limit of an answer. A prompt's own can lower it, unless `ignore_eos`",
    ("load_points", "ignore_eos"): "every answer runs to `max_tokens`, so that E2E can be compared above temperature 0",
    ("load_points", "num_prompts"): "the first so many prompts of the eval set; without it all",
    ("load_points", "weight"): "share in the objective; every combination of the entry gets it. Not with `traffic`",
    (
        "protocol",
        "repeats",
    ): "measured passes at each load point, more where they differ much; a number means exactly so many",
    (
        "protocol",
        "lives",
    ): "fresh engine lives in which the finalists and their baselines are measured after selection, "
    "more where lives differ much, fewer of the finalist that falls behind. 1 for none: the answer is then of one life "
    "alone",
    (
        "protocol",
        "resolve",
    ): "the smallest effect worth knowing: repeats and lives are added, within their limits, until "
    "one of that size could be seen",
    ("protocol", "warmup_requests"): "discarded requests before a load point; without it the concurrency, at least 2",
    ("protocol", "baseline_again"): "measure each baseline again, to see drift",
    ("protocol", "baseline_every"): "after so many candidates, and at the end",
    (
        "protocol",
        "losslessness",
    ): "at temperature 0 fetch the baseline's two most probable tokens at each position, to "
    "tell a near-tie from a fault; without it, or where the engine refuses, answers that part count as unexplained",
    (
        "protocol",
        "distribution_samples",
    ): "above temperature 0: answers per prompt for the test of first tokens, 0 for no "
    "test; `--check-distribution` sets it",
    ("protocol", "same_runner"): "measure a second baseline with what speculation makes the engine change; "
    "`--same-runner-baseline` sets it",
    ("protocol", "drafts_alone"): "serve each draft model alone too, to time it; `--drafts-alone` sets it",
    (
        "protocol",
        "schedule",
    ): "where the best K depends on the concurrency: derive a K schedule for the recommended draft "
    "and measure it as deployed, in as many fresh lives as `lives` says (at least one), each with the recommended K "
    "and the baseline",
    ("protocol", "start_timeout_s"): "until the engine is ready",
    ("protocol", "stall_timeout_s"): "longest silence of its log until then",
    ("protocol", "request_timeout_s"): "until an answer is complete",
    (
        "protocol",
        "reduced",
    ): "a sentence: why this protocol proves less than the default. Written by the tuner if left out "
    "with fewer than 3 repeats, without fresh lives or without `baseline_again`",
    (
        "objective",
        "metric",
    ): "what decides: time per output token, latency of whole answers (needs answers of one length: "
    "temperature 0 or `ignore_eos`), or output tokens per second",
    ("objective", "limits"): "latencies that a setting must keep to",
    ("objective", "inflection_threshold"): "gain per further token below which a K curve counts as flat",
    ("objective", "limits", "p95_ttft_s"): "time to the first token",
    ("objective", "limits", "p95_tpot_s"): "time per output token",
    ("objective", "limits", "p95_e2e_s"): "time to the last token",
    (
        "search",
        "sampler",
    ): "`guided` predicts what it does not measure; the others measure every candidate that the limits "
    "allow. `--sampler` overrides it",
    ("limits", "max_trials"): "trials that may be begun",
    ("limits", "max_minutes"): "no new candidate is begun after so many minutes",
    (
        "limits",
        "max_engine_starts",
    ): "engine starts; one is kept back for the closing baseline, and up to half of them for the finalists",
    ("traffic", "shares"): "concurrency: share of the time in which any request runs. They add up to 1",
    (
        "traffic",
        "prometheus",
    ): "a file with the answer of a range query for `vllm:num_requests_running`, relative to this file",
}
