"""The history page in Chinese."""

HISTORY = {
    "history_title": "{target}：投机解码的历史",
    "history_of": "{n} 次测量，{first} 到 {last}（UTC）",
    "history_of_one": "一次测量，{first}（UTC）",
    "source_history": "登记库里的记录",
    # --- headings
    "title_speedups": "加速比的变化",
    "title_lengths": "接受长度的变化",
    "title_tpots": "TPOT 的变化",
    "title_sweeps": "每一次测量",
    "title_broken": "读不出来的记录",
    # --- the newest answer
    "now_where": "{when}，{engine}{at}",
    "now_changed": "结论变过：{changes}。",
    "now_change": "{when} 由“{old}”变为“{new}”",
    "now_kept": "{n} 次测量的结论都相同。",
    "tile_sweeps": "保存的测量次数",
    "now_only": "只有一次测量，还谈不上历史：从第二次起才能看出变化。",
    # --- charts
    "over_about": (
        "时间从左到右；挨得太近、画不开的测量会错开一点。折线断开的地方，要么没有测得这个数字，要么草稿模型、方法"
        "或设备变了，前后两点不是同一回事。"
    ),
    "over_one_life": "只启动一次引擎的区间只说明那一次启动：两次启动相差多少不包括在内。",
    "over_speedups": "推荐配置的加速比{at}",
    "over_lengths": "推荐配置的接受长度{at}",
    "over_tpots": "推荐配置与不用投机解码时的 TPOT{at}",
    "over_at": "，{at}",
    "over_label": "{title}，逐次列出。{lines}",
    "over_line": "{line}：{points}。",
    "over_point": "{when} {value}",
    "over_tip": "{when}，{engine}：{line} {value}{changed}",
    "over_tip_changed": "；结论变为“{verdict}”",
    "over_figures": "{title}：数据",
    "over_speedup": "加速比",
    "over_plain": "不用投机解码，{load}",
    "axis_when": "测量日期（UTC）",
    "axis_times": "倍",
    "axis_length": "每次提议得到的 token",
    "axis_ms": "毫秒每 token",
    "key_release": "换了引擎版本",
    "key_change": "结论变了",
    "nothing_measured": "没有测量",
    # --- every sweep
    "sweeps_of": "{target} 的全部测量，从旧到新",
    "col_when": "时间（UTC）",
    "col_engine": "引擎与设备",
    "col_answer": "答案",
    "col_lives": "启动次数",
    "col_changed": "与上一次相比的变化",
    "sweeps_first": "第一次",
    "sweeps_nothing": "没有变化",
    "verdict_now": "结论变了",
}
