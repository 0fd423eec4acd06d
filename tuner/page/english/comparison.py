"""The comparison page in English. What the comparison itself says stands in tuner.compare."""

COMPARISON = {
    "compared_title": "{target}: two sweeps compared",
    "compared_of": "OLD: {old} · NEW: {new}",
    "source_comparison": "the two artifacts and the records beside them",
    # --- headings
    "title_do": "What to do",
    "title_both": "Speedup by K, both sweeps",
    "title_rows": "Figure by figure",
    "title_apart": "The speedup taken apart",
    "title_setups": "What differs between the set-ups",
    "title_room": "Engine start and memory",
    "title_known": "What to keep in mind",
    # --- the answer
    "tile_old": "OLD: speedup",
    "tile_new": "NEW: speedup",
    "tile_of": "{interval}; {what}",
    "tile_judged": "Figures that decide",
    "tile_judged_value": "{n} of {of}",
    "tile_judged_detail": "can be told",
    "tile_changed": "Things that changed",
    "tile_changed_none": "nothing that is recorded",
    # --- what to do
    "do_better": "Deploy what NEW recommends.",
    "do_same": "Deploy NEW: nothing that decides became worse. OLD's settings do as well.",
    "do_worse": "Stay with OLD until the cause is removed. Its way to start: serve.yaml beside {old}.",
    "do_cannot_tell": "Neither an upgrade nor a way back follows from this: measure more, as below.",
    "do_recommended": "At temperature {temperature} the recommendation changed: {old} before, {new} now.",
    "do_unchanged": "At temperature {temperature} the recommendation is as before: {new}.",
    "do_tell": "A sweep that would tell the causes apart",
    # --- the charts
    "both_about": (
        "Both sweeps in one chart, each over its own engine without speculation. The lines are of one engine life of "
        "each K; diamonds are over fresh engine lives, on which the verdict rests."
    ),
    "both_line": "{side}, {draft}",
    "both_best": "{line}: best K = {k} ({speedup})",
    "both_none": "{line}: no K clearly faster",
    "both_label": "Speedup over no speculation by K at {load}, in both sweeps. {lines}",
    "both_tip": "{line} K={k}: {speedup}",
    "both_fresh": "{line} K={k} over {lives} fresh lives: {speedup}",
    "both_figures": "Speedup by K at {load}",
    "both_missing": "Neither artifact has a curve over K at a common load point.",
    "col_k": "K",
    # --- the figures
    "rows_about": (
        "The bar is the interval of NEW / OLD, its mark the value; the grey field is the tolerance, within which "
        "nothing is called a difference. Left is less, right is more; for times less is better."
    ),
    "rows_at": "NEW against OLD at {load}",
    "col_figure": "figure",
    "col_old": "OLD",
    "col_new": "NEW",
    "col_ratio": "NEW / OLD",
    "col_drawn": "{low}x to {high}x",
    "rows_tolerance": "tolerance {tolerance}",
    "col_verdict": "verdict",
    # --- set-ups
    "setups_same": "Nothing that is recorded changed.",
    "setups_of": "Every recorded difference",
    "col_field": "what",
    "col_cause": "can be the cause",
    "setups_no_cause": "no",
    "setups_none": "none",
    # --- start and memory
    "room_about": (
        "Start: from starting the process until it answers, the median over engine lives. Memory: as the engines' logs "
        "give it, for one device."
    ),
    "room_of": "Start and memory of both sweeps",
    "room_row": "{side}, {setting}",
    "room_plain": "no speculation",
    "room_unknown": "{side} has no records beside its artifact: its start times are not known.",
    "col_sweep": "sweep, setting",
    "col_start": "start",
}
