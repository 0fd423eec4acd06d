"""The explanation in English. Keys and placeholders are those of every language; a test holds them together."""

MESSAGES = {
    "heading": "Why this answer: {target}, {engine}, on {devices}",
    "temperature": "Temperature {temperature}",
    "list.comma": ", ",
    "list.last": "{first} and {last}",
    "clauses.comma": ", ",
    "clauses.last": "{first} and {last}",
    "plain": "no speculation",
    "n.prompts": "{n} prompts",
    "n.repeats": "{n} repeats",
    "n.rounds": "{n} rounds",
    "n.drafts": "{n} drafts",
    "n.steps": "{n} steps",
    "n.requests": "{n} requests",
    "n.other": "{n} {of}",
    "lives.one": "one engine life each",
    "lives.once": "one engine life",
    "lives.several": "over {lives} engine lives",
    "where.concurrency": "concurrency {concurrency}",
    "where.load": "{eval_set}, concurrency {concurrency}, {tokens} tokens",
    "metric.tpot": "time per output token after the first (TPOT)",
    "metric.e2e": "time of a whole answer (E2E latency)",
    "metric.throughput": "output tokens per second (throughput)",
    # The answer
    "answer.title": "The answer",
    "answer.speculate": "Speculate, with draft {draft} and K = {k}.",
    "answer.speculate_below": "Speculate, with draft {draft} and K = {k}, as long as the number of requests at once "
    "is at most {up_to}. At {below} it is slower or breaks a limit; in between nothing is claimed.",
    "answer.do_not": "Do not speculate: nothing that was tried pays here.",
    "answer.inconclusive": "Not decided. Do not speculate until a better measurement says that it pays.",
    "answer.unfinished": "The sweep is not finished: this is the state so far.",
    "answer.simulated": "The engine was a simulated one: the figures describe no real model.",
    "answer.nothing_to_compare": "No setting with speculation has figures to compare.",
    "answer.figure": "{label} is {speedup} as fast as the same engine without speculation ({metric}; concurrency, "
    "that is requests at once: {loads}; {n}).",
    "answer.nearest": "{label} comes nearest. It is {speedup} as fast as the same engine without speculation, where "
    "less than 1.00x is slower ({metric}; concurrency, that is requests at once: {loads}; {n}).",
    "answer.interval": "The range in brackets is the 95 % interval: what noise leaves possible for the true value.",
    "answer.holds_one": "It reaches from slower to faster. So this measurement cannot tell which it is.",
    "answer.above_one": "All of it lies above 1.00x: within what was measured, this is faster.",
    "answer.below_one": "All of it lies below 1.00x: within what was measured, this is slower.",
    "answer.no_interval": "There is no interval: too little was measured to say how sure that is.",
    "answer.lives": "{label} and the engine without speculation were started {lives} more times each after the "
    "choice was made. The figure comes from these fresh engine lives alone.",
    "answer.screened": "In the one life by which it was chosen it ran at {speedup}: the best of several is on "
    "average a little too high, which is why it was measured again.",
    "answer.one_life": "It comes from one start (one life) of the engine with {label}. Two starts of the same engine "
    "can differ by more than a draft brings, and the best of several figures is on average a little too high.",
    # What K does
    "steps.title": "What K does",
    "steps.how": "Without speculation the target makes one token a step. With it, the draft first proposes K tokens "
    "and the target checks them all in one step. It keeps (accepts) the ones up to the first wrong one, and adds one "
    "of its own.",
    "steps.trade": "So a step brings more tokens and takes longer. Speedup = tokens per step / length of the step, "
    "where a step without speculation has length 1. A larger K adds tokens that are less and less likely to be "
    "accepted, and the draft runs once more for each.",
    "steps.acceptance": "With K = {k} at {where}, {first} of the drafts had their first token accepted, and {last} "
    "all {k} of them. By position, in per cent: {shares} ({n}).",
    "steps.table": "Draft {draft} at {where}, one engine life for each K, {n}:",
    "column.k": "K",
    "column.last": "last token accepted",
    "column.tokens": "tokens per step",
    "column.length": "length of step",
    "column.speedup": "speedup (95 %)",
    # Why this K
    "why.title": "Why K = {k} and not another",
    "why.title_none": "Why nothing is recommended",
    "why.step": "A step of {label}, held against a step without speculation ({lives}):",
    "column.load": "at",
    "why.against": "{label} is {ratio} as fast as {other} ({n}, {lives}). {verdict}",
    "why.faster": "That is clearly faster.",
    "why.slower": "That is clearly slower.",
    "why.faster_here": "Between these two lives that is faster; the next two may differ.",
    "why.slower_here": "Between these two lives that is slower; the next two may differ.",
    "why.open": "Noise does not tell the two apart.",
    "why.smaller_taken": "Where noise does not tell two K apart, the smaller one is taken. It wastes less where less "
    "is accepted or more requests run. So it is K = {k}.",
    "why.gap": "Not measured: K = {missing}. So it is compared with K = {k}.",
    "why.gap_space": "Not in the search space: K = {missing}. So it is compared with K = {k}.",
    "why.none_in_space": "The search space has no smaller K.",
    "why.drafts": "Each draft with its best single K, over all load points together, those where it does not pay "
    "included:",
    "column.draft": "draft",
    "why.barred": "{label} may not win, however fast it is. From the report: {text}",
    "why.barred_several": "{label} may not win, however fast it is. From the report, the first of {count} reasons: "
    "{text}",
    "why.smallest": "Below K = 1 there is only no speculation, with which the answer compares it.",
    "why.none_below": "Not measured: any smaller K ({missing}). What is predicted of them stands under what was not "
    "measured.",
    "why.none_above": "Not measured: any larger K ({missing}). What is predicted of them stands under what was not "
    "measured.",
    "why.largest": "K = {k} is the largest in the search space: a larger one was not asked for.",
    # The inflection point
    "inflection.title": "Where a larger K stops paying (the inflection point)",
    "inflection.what": "It is the first K from which one more proposed token gains less than {threshold}, by the "
    "upper end of its interval.",
    "inflection.sharp": "At {where}: K = {k}, and nothing else is left open.",
    "inflection.at": "At {where}: K = {k}, by what was measured; it may be any of K = {ks}.",
    "inflection.unresolved": "At {where}: not resolved. It may be any of K = {ks}.",
    "inflection.not_reached": "At {where}: not reached. Every token up to K = {k} still gains {threshold} or more.",
    "inflection.open": "Several K stay possible where noise hides the gain of a token, or where a K was not measured.",
    "inflection.not_best": "This is another question than which K is best. K = {k} is recommended for concurrency "
    "{loads} together, and as the smaller one where noise does not tell two apart.",
    "inflection.none": "There is no curve of this draft: too few K were measured.",
    # More requests at once
    "load.title": "With more requests at once",
    "load.why": "As a rule speculation pays most for few requests: the device then waits for its memory, and "
    "checking more tokens costs little. The more requests run at once, the more each checked token costs. Measured "
    "here:",
    "load.open_means": '"Best" looks only at what is clearly faster than no speculation there: it is the smallest K '
    "that noise does not tell apart from the fastest of these. The last column names all others that noise does not "
    "tell apart from that one; some may have been measured faster, and yet not be clearly faster than no speculation.",
    "load.none_means": '"None": nothing is clearly faster than no speculation there.',
    "load.not_enough": '"Pays" is said here by an interval of 95 % alone. It is not enough for a verdict: {candidates} '
    "candidates were tried, and one of them may look good by luck, so each claim has to be {needed} sure.",
    "load.schedule": "A K for each number of requests (K schedule), from the report: {text}",
    "load.one": "Only concurrency {concurrency} was measured. What happens with more requests at once is not known.",
    "load.none_may_win": "none may win",
    "load.nearest": "none (nearest: {label})",
    "load.effects": "With the best K at each concurrency, speculation {effects}.",
    "load.static": "With {label} at all of them, it {effects}.",
    "load.pays_at": "pays at {at}",
    "load.unclear_at": "cannot be told from none at {at}",
    "load.slower_at": "is slower at {at}",
    "load.between": "So it stops paying somewhere between {low} and {high} requests at once.",
    "load.above": "It pays up to the {last} requests at once that were measured; where it stops was not measured.",
    "load.unclear_above_one": "Above one request at a time no gain is shown, and no loss: where it stops paying is not "
    "known.",
    "load.unclear_above": "Above {last} requests at once no gain is shown, and no loss: where it stops paying is not "
    "known.",
    "column.concurrency": "requests at once",
    "column.best": "best",
    "column.effect": "speculation",
    "column.open": "not told apart",
    "effect.pays": "pays",
    "effect.slower": "slower",
    "effect.unclear": "open",
    # Cost
    "cost.title": "What the draft costs",
    "cost.rule": "To pay, a step has to bring more tokens than its length says: a step of length 1.8 needs more than "
    "1.8.",
    "cost.alone": "Served alone, {draft} takes {draft_time} a token and the target {target_time}: {ratio} as fast "
    "({where}, {n}). Rule of thumb: 5x at least, better 10x.",
    "cost.not_alone": "The length of a step holds the draft's passes, the check, and what the engine adds. What "
    "{draft} takes by itself was not measured; `tuner diagnose MODEL` does that.",
    "cost.at": "{ratio} at {where}",
    "cost.first_token": "The wait for the first token is not part of TPOT. Against no speculation it is {ratios} "
    "({n}); above 1x is longer.",
    "cost.memory": "The draft takes memory from the KV cache, which holds the running requests: with {label} there "
    "is room for {given} tokens, without speculation for {plain}.",
    # What was not measured
    "missing.title": "What was not measured",
    "missing.none": "Nothing is missing: every K of the search space was measured.",
    "missing.k": "Draft {draft}, K = {ks}: {reason}.",
    "missing.predicted": "predicted {speedup} from what was measured, so it was not started",
    "missing.roughly": "only roughly predicted from what was measured, {low} to {high}; it was not started",
    "missing.no_gain": "the search expected no gain of an engine start",
    "missing.unfinished": "the sweep is not finished",
    "missing.memory": "K = {failed} ran out of memory already",
    "missing.no_baseline": "the engine failed without speculation already",
    "missing.failed": "{label} failed: {reason}",
    "missing.unavailable": "{label}: {reason}",
    "missing.traffic": "{share} of the busy time of your traffic is at more requests at once than were measured.",
    # Certainty
    "doubt.title": "What limits the certainty",
    "doubt.prompts": "Most of the uncertainty comes from the prompts: they do not all gain alike.",
    "doubt.repeats": "Most of the uncertainty comes from repeats: the same load took longer one time than the other.",
    "doubt.lives": "Most of the uncertainty comes from engine lives: one start of the engine differs from the next.",
    "doubt.drift": "Most of the uncertainty comes from drift: the engine without speculation was faster or slower at "
    "the end than at the start.",
    "doubt.no_resolution": "How small an effect could have been seen is not known: there is no interval.",
    "doubt.life_sd": "From one start to the next the speedup differs by {sd} (standard deviation).",
    "doubt.smallest": "Differences below {effect} would mostly go unseen in a sweep like this one.",
    "doubt.needed": "To settle a difference of {effect}, take about {needed}.",
    "needed.prompts": "{n} prompts",
    "needed.repeats": "{n} repeats in each engine life",
    "needed.lives": "{n} fresh engine lives",
    "doubt.one_life": "Each candidate was started once (`protocol.lives: 1`): how starts differ was not measured.",
    "doubt.lives_missing": "The answer wants {lives} fresh engine lives of the best candidates. They are not "
    "complete, so it still rests on one life each.",
    "doubt.drifted": "The engine without speculation was measured again later. Where that differs most, {drift}.",
    "doubt.drift_unknown": "The engine without speculation was measured once: whether it drifted is not known.",
    "doubt.warning": "From the report: {text}",
    # Causes
    "cause.title": "Causes that the measurements show",
    "cause.none": "No rule found a cause worth naming.",
    "cause.line": "{what} ({sure}; {subject})",
    "cause.report": "here: {text}",
    "cause.evidence": "measured: {text}",
    "cause.next": "next: {advice}",
    "sure.high": "clear",
    "sure.medium": "likely",
    "sure.low": "possible",
    # What to do
    "deploy.title": "What to do",
    "deploy.write_first": "Write the files for vLLM first; nothing is measured for that:",
    "deploy.speculate": "Start vLLM with what won:",
    "deploy.plain": "Start vLLM without speculation:",
    "deploy.above": "That is for at most {up_to} at once. vLLM has no switch for that limit: route so that it holds, "
    "and where more is usual start the engine without speculation:",
    "deploy.below": "Where the number of requests at once never goes above {up_to}, start the other file instead. "
    "vLLM has no switch for that limit; route so that it holds:",
    "deploy.watch": "`{alerts}` holds Prometheus rules: they tell when less is accepted than was measured here.",
    "deploy.undecided": "This is not decided yet. {what}.",
    "deploy.go_on": "To finish the sweep, call the same command again; what is measured is kept:",
    "deploy.check": "After an upgrade of the engine, the driver or a model, ask whether this still holds:",
    "deploy.more": "Every figure with its n, and all tables: `{report}`.",
    # Causes by code
    "cause.outputs_fault": "The answers are not the target's own",
    "cause.memory_at_start": "Not enough memory to start",
    "cause.memory_for_kv_cache": "Not enough memory for the KV cache",
    "cause.memory_in_verification": "Out of memory while checking proposals",
    "cause.vocabulary_mismatch": "Draft and target number their tokens differently",
    "cause.head_of_another_target": "The head was trained for another target",
    "cause.engine_overhead": "The device waits for the engine",
    "cause.draft_too_slow": "The draft is too slow for its target",
    "cause.draft_too_weak": "The draft guesses too little right",
    "cause.few_matches": "There is little to copy in this traffic",
    "cause.saturated": "The device has enough to do without drafts",
    "cause.answers_too_short": "The answers are too short to gain much",
    "cause.target_too_small": "The target is small for this device",
    "cause.noise_too_large": "Noise is larger than the effect",
    "cause.k_too_long": "K reaches beyond what the draft guesses right",
    "cause.lives_differ": "Engine starts differ by more than K does",
    "cause.settings_changed": "Speculation makes the engine change other settings",
    "cause.acceptance_below_half": "Less than half is kept, and yet it pays",
    "cause.stacked_accelerators": "Several accelerators at once",
    "cause.outputs_near_ties": "Some answers differ where two tokens are equally likely",
    "cause.outputs_sampling_noise": "Sampled answers differ as chance has it",
    "next.outputs_fault": "do not deploy it; measure it again in a fresh life, and report it if it differs again.",
    "next.memory_at_start": "lower what the engine takes, as the log's numbers say, or take a smaller draft.",
    "next.memory_for_kv_cache": "raise gpu_memory_utilization, lower max_num_seqs or max_model_len, or a smaller "
    "draft.",
    "next.memory_in_verification": "a smaller K, fewer requests at once, or a smaller share of memory for the engine.",
    "next.vocabulary_mismatch": "take a draft of the target's own family; `tuner preflight` compares their tokens.",
    "next.head_of_another_target": "take a head that was trained for exactly this target.",
    "next.engine_overhead": "a draft with fewer layers; or a larger K, if acceptance holds and the fixed part "
    "dominates.",
    "next.draft_too_slow": "a draft with fewer layers, or a head (EAGLE, MTP); layers cost more than width.",
    "next.draft_too_weak": "another draft of the same family, or a head; `tuner breakeven RUN` says what it has to "
    "reach.",
    "next.few_matches": "n-gram suits summaries, extraction and code edits; else take a draft model.",
    "next.saturated": "keep engines that speculate below that many requests, and start others without it.",
    "next.answers_too_short": "judge by whole answers (`objective.metric: e2e`); shorter prompts or prefix caching "
    "help more.",
    "next.target_too_small": "do not speculate for it here; with enforce_eager, measure without that first.",
    "next.noise_too_large": "measure again, with the command under what to do.",
    "next.k_too_long": "keep K where it is recommended, and leave the longer ones out.",
    "next.lives_differ": "let fresh lives decide (`protocol.lives: 4` or more); `tuner noise MODEL` says how many.",
    "next.settings_changed": "`tuner sweep MODEL --same-runner-baseline` measures what that costs without a draft.",
    "next.acceptance_below_half": "keep it; a draft that guesses better would bring more.",
    "next.stacked_accelerators": "take them away one at a time and sweep again.",
    "next.outputs_near_ties": "nothing: either token is the target's choice, and rounding decides.",
    "next.outputs_sampling_noise": "nothing; more samples (`--check-distribution N`) would see smaller differences.",
}
