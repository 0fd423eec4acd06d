"""The history page in English."""

HISTORY = {
    "history_title": "{target}: speculative decoding over time",
    "history_of": "{n} sweeps, {first} to {last} (UTC)",
    "history_of_one": "One sweep, {first} (UTC)",
    "source_history": "the registry's entries",
    # --- headings
    "title_speedups": "Speedup over time",
    "title_lengths": "Acceptance length over time",
    "title_tpots": "TPOT over time",
    "title_sweeps": "Every sweep",
    "title_broken": "Entries that cannot be read",
    # --- the newest answer
    "now_where": "{when}, {engine}{at}",
    "now_changed": "The verdict changed: {changes}.",
    "now_change": "on {when} from {old} to {new}",
    "now_kept": "The verdict was the same in all {n} sweeps.",
    "tile_sweeps": "Sweeps kept",
    "now_only": "One sweep is no history: what changes shows from the second one on.",
    # --- charts
    "over_about": (
        "Time runs to the right; sweeps too close to be drawn apart are moved aside. A line is broken where its figure "
        "was not measured, or where draft, method or device changed, so that two points are not the same thing. "
    ),
    "over_one_life": "Intervals of one engine life hold within it: how much two lives differ is not in them.",
    "over_speedups": "Speedup of the recommended setting{at}",
    "over_lengths": "Acceptance length of the recommended setting{at}",
    "over_tpots": "TPOT of the recommended setting and without speculation{at}",
    "over_at": ", {at}",
    "over_label": "{title}, sweep by sweep. {lines}",
    "over_line": "{line}: {points}.",
    "over_point": "{when} {value}",
    "over_tip": "{when}, {engine}: {line} {value}{changed}",
    "over_tip_changed": "; verdict changed to {verdict}",
    "over_figures": "{title}: figures",
    "over_speedup": "speedup",
    "over_plain": "no speculation, {load}",
    "axis_when": "date of the sweep (UTC)",
    "axis_times": "times",
    "axis_length": "tokens per draft",
    "axis_ms": "ms per token",
    "key_release": "another engine release",
    "key_change": "verdict changed",
    "nothing_measured": "not measured",
    # --- every sweep
    "sweeps_of": "Sweeps of {target}, oldest first",
    "col_when": "when (UTC)",
    "col_engine": "engine and device",
    "col_answer": "answer",
    "col_lives": "lives",
    "col_changed": "changed since the one before",
    "sweeps_first": "the first",
    "sweeps_nothing": "nothing",
    "verdict_now": "verdict changed",
}
