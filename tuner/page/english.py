"""The page's own sentences in English. What analysis and the Markdown report say stands where they say it."""

from __future__ import annotations

from tuner.page.words import Words

ENGLISH = Words(
    "en",
    {
        # --- the page around everything
        "page_title": "Speculative decoding for {target}",
        "contents": "Contents",
        "skip": "Skip to the answer",
        "theme": "Theme",
        "theme_auto": "as the system",
        "theme_light": "light",
        "theme_dark": "dark",
        "load_chooser": "Load point",
        "load_all": "all load points",
        "copy": "Copy",
        "copied": "Copied",
        "not_copied": "Selected: copy it with the keyboard",
        "figures": "Figures of this chart",
        "next": "Next:",
        "scrolls": "Table, scrolls sideways: {caption}",
        "table": "table",
        "made_by": "Written by tuner {version} from the run's records alone. It loads nothing from anywhere.",
        # --- headings
        "title_answer": "Answer",
        "title_deploy": "Deploy it",
        "title_why": "Why",
        "title_mind": "What to keep in mind",
        "title_curves": "Speedup by K",
        "title_concurrency": "K and concurrency",
        "title_acceptance": "Acceptance by position",
        "title_steps": "Where the time of a step goes",
        "title_latencies": "Latencies of single requests",
        "title_categories": "By kind of prompt",
        "title_goal": "What decided",
        "title_schedule": "K schedule",
        "title_sure": "How sure it is",
        "title_outputs": "Same output",
        "title_changed": "What the engine changed by itself",
        "title_memory": "Memory",
        "title_device": "The device meanwhile",
        "title_explained": "Measured to explain it, and not measured",
        "title_failed": "Candidates without figures",
        "title_repeat": "Where it comes from, and how to repeat it",
        # --- the answer
        "not_finished": "The sweep is not finished: this is the state so far.",
        "at_temperature": "at temperature {temperature}",
        "interval": "95 % interval {low}-{high}",
        "worst_category": "Prompts that gain least at {load}: {name}, {speedup}, n = {n}.",
        "tile_speedup": "Speedup",
        "tile_speedup_up_to": "Speedup up to concurrency {up_to}",
        "tile_draft": "Draft",
        "tile_k": "K",
        "tile_k_detail": "tokens proposed per step",
        "tile_up_to": "Up to concurrency",
        "tile_below": "slower at {below}",
        "tile_runner_up": "Nearest rival",
        "tile_lives": "Engine lives behind it",
        "tile_one_life": "no claim beyond that life",
        "tile_fresh": "measured again after selection",
        "tile_smallest": "Smallest effect it could see",
        "tile_nine_of_ten": "in nine of ten such sweeps",
        # --- deploying
        "deploy_where": "Run in the directory of this page; the files are beside it.",
        "deploy_command": "Recommended: {what}",
        "deploy_limited": "Where concurrency stays at {up_to} or less: {what}",
        "deploy_back": "The way back, without speculation",
        "deploy_files": "What these files hold",
        # --- causes
        "cause_name": "{code}: {subject}",
        "sure_high": "clear",
        "sure_medium": "likely",
        "sure_low": "possible",
        # --- curves
        "axis_k": "K, tokens proposed per step",
        "axis_speedup": "{metric} speedup",
        "curves_label": "Speedup over no speculation by K at {load}. {curves}",
        "curve_legend": "{draft}: {best}, {bend}",
        "curve_best": "best K = {k} ({speedup}x)",
        "curve_no_best": "no K clearly faster",
        "curve_bend": "inflection {k}",
        "curve_open": "inflection open",
        "curve_failed": "{draft}: every K failed",
        "tip_point": "{draft} K={k}: {speedup}, TPOT {tpot}, {length} tokens per draft",
        "tip_baseline": "no speculation: TPOT {tpot}",
        "tip_fresh": "{what} over {lives} fresh lives: {speedup}",
        "key_interval": "95 % interval; an arrow: it goes on",
        "key_level": "as fast as no speculation",
        "key_best": "best K: the fastest, or the smallest that noise cannot tell from it",
        "key_bend": "inflection: the next token gains less than {threshold} %",
        "key_fresh": "over fresh engine lives",
        "figures_of": "Figures at {load}",
        "curves_table": "Best K and inflection point by load point",
        "all_figures": "All figures, by load point",
        "in_lives": "{what}, {lives} lives",
        "col_candidate": "candidate",
        "col_speedup": "speedup (95 %)",
        "col_tpot": "TPOT",
        "col_length": "tokens per draft",
        "col_rate": "acceptance rate",
        "col_n": "n",
        "col_load": "load point",
        # --- the map
        "map_about": (
            "Speedup over no speculation, 95 % intervals below it. A frame marks the best K of a column: the fastest, "
            "or the smallest that noise cannot tell from it. A heavy line divides what was measured faster than no "
            "speculation from what was not."
        ),
        "map_of": "{draft}: {metric} speedup by K and concurrency{at}",
        "map_corner": "K",
        "map_column": "concurrency {n}",
        "map_row": "K = {k}",
        "map_plain": "no speculation",
        "map_nothing": "not measured",
        "map_failed": "failed",
        "map_barred": "may not win",
        "map_fresh": " \u25c6",
        "map_best": "best",
        # --- acceptance
        "acceptance_about": (
            "Share of drafts accepted up to each position, at the largest K measured of each draft. A token counts "
            "only if every token before it was accepted."
        ),
        "acceptance_label": "Share of drafts accepted up to each position at {load}. {drafts}",
        "acceptance_legend": "{draft} at K = {k}: {length} tokens per draft, {drafts} drafts",
        "acceptance_table": "Acceptance of every candidate",
        "axis_position": "position in the draft",
        "axis_accepted": "drafts accepted",
        "tip_acceptance": "{draft} K={k}, position {position}: {share} of drafts",
        # --- steps
        "steps_about": (
            "A step is one pass of the target over the proposed tokens, with the drafting before it: TPOT times tokens "
            "per step. At least a plain step of it is the target's own pass, as without speculation."
        ),
        "steps_together": (
            "Drafting, longer verification and what the engine adds were not told apart: that takes the draft served "
            "alone (tuner diagnose) or n-gram at the same K."
        ),
        "step_plain": "the target's pass, as without speculation",
        "step_draft": "drafting",
        "step_verification": "verification beyond a plain pass, as n-gram's step of the same K shows it",
        "step_rest": "the engine, and what is not told apart",
        "step_beyond": "drafting, longer verification and the engine together",
        "col_step_bar": "parts",
        "col_growth": "in plain passes (95 %)",
        "col_step": "a step",
        "col_step_plain": "plain pass",
        "col_step_draft": "drafting",
        "col_step_verification": "verification",
        "col_step_rest": "rest",
        "col_step_beyond": "beyond it",
        # --- latencies
        "latencies_about": (
            "Over the single requests of all repeats that count. The box holds the middle half, the line 5 % to 95 % "
            "of the requests, the bar in the box is the median."
        ),
        "latency_tpot_s": "Time per output token (TPOT) at {load}",
        "latency_ttft_s": "Time to first token (TTFT) at {load}",
        "col_spread": "0 to {widest}",
        "col_p50": "median",
        "col_p95": "p95",
        "col_p99": "p99",
        "col_requests": "requests",
        # --- categories
        "categories_about": "TPOT speedup by the category that the eval set gives each prompt, with 95 % intervals.",
        "categories_of": "Speedup by category at {load}",
        "col_category": "category",
        "prompts": "n = {n}",
        # --- certainty
        "no_fresh_lives": (
            "No finalist was measured again in a fresh engine life: every figure is of one life, and the best of many "
            "single figures is too high on average."
        ),
        "drift_of": "Drift of the baseline between its first and later lives",
        "col_drift": "drift (1.02x: 2 % slower later)",
        "no_drift": "The baseline was measured once: how far it drifted over the sweep is not known.",
        "undisturbed": "None of {of} repeats was seen to be disturbed.",
        "disturbed": "{n} of {of} repeats were seen to be disturbed; the first: {first}.",
        "outputs_count": "{verdict}: {n} of {of} candidates and load points",
        "outputs_table": "Answers compared with the baseline's, token by token",
        # --- memory
        "memory_about": "As the engines' own logs give it, for one device; the first life of each candidate.",
        "memory_of": "Memory by candidate",
        "col_weights": "weights",
        "col_kv_bytes": "KV cache",
        "col_kv_tokens": "tokens in it",
        "col_kv_requests": "requests of full length",
        "col_graphs": "CUDA graphs",
        "col_other": "before the cache",
        "col_context": "max_model_len",
        "device_table": "Clocks, power and use during the repeats",
        # --- the comment in a pull request
        "pr_rest": "Everything else, with charts: {report} in the run directory.",
        "pr_ttft": "TTFT ratio",
        "pr_more_loads": "{n} more load points in the report.",
        "pr_more_causes": "{n} more causes in the report.",
        # --- provenance
        "repeat_with": "The command that measures it again",
        "no_repeat": "The run does not say with which command it was started.",
        "space_source": "The search space",
        "fact_target": "target",
        "fact_draft": "draft {name}",
        "fact_engine": "engine",
        "fact_devices": "devices",
        "fact_loads": "load points",
        "fact_env": "environment",
        "fact_lives": "engine lives",
        "fact_when": "measured",
        "fact_took": "time of all lives",
        "fact_tuner": "tuner",
        "fact_run": "identity of the inputs",
    },
)
