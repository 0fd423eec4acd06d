"""The comparison page in Chinese."""

COMPARISON = {
    "compared_title": "{target}：两次测量的比较",
    "compared_of": "旧：{old} · 新：{new}",
    "source_comparison": "两次测量的结果文件和旁边的记录",
    # --- headings
    "title_do": "接下来做什么",
    "title_both": "两次测量的加速比随 K 的变化",
    "title_rows": "逐项比较",
    "title_apart": "加速比的分解",
    "title_setups": "两套环境有什么不同",
    "title_room": "引擎启动与内存",
    "title_known": "需要注意的",
    # --- the answer
    "tile_old": "旧：加速比",
    "tile_new": "新：加速比",
    "tile_of": "{interval}；{what}",
    "tile_judged": "用来判断的项目",
    "tile_judged_value": "{of} 项中的 {n} 项",
    "tile_judged_detail": "能判断",
    "tile_changed": "有变化的因素",
    "tile_changed_none": "有记录的都没有变化",
    # --- what to do
    "do_better": "部署新的推荐配置。",
    "do_same": "可以部署新的：用来判断的项目都没有变差。继续用旧的配置也可以。",
    "do_worse": "在消除原因之前继续用旧的。启动它的文件是 {old} 旁边的 serve.yaml。",
    "do_cannot_tell": "由此既不能决定升级，也不能决定回退：请按下面所说的多测。",
    "do_recommended": "温度 {temperature} 时推荐的配置变了：以前是“{old}”，现在是“{new}”。",
    "do_unchanged": "温度 {temperature} 时推荐的配置和以前一样：“{new}”。",
    "do_tell": "能分清原因的一次测量",
    # --- the charts
    "both_about": (
        "两次测量画在一张图里，各自相对自己不用投机解码的引擎。折线上每个 K 来自一次引擎启动；菱形跨多次全新启动"
        "，结论依据的是它们。"
    ),
    "both_line": "{side}，{draft}",
    "both_best": "{line}：最好的 K = {k}（{speedup}）",
    "both_none": "{line}：没有一个 K 明显更快",
    "both_label": "两次测量在 {load} 时各个 K 相对不用投机解码的加速比。{lines}",
    "both_tip": "{line} K={k}：{speedup}",
    "both_fresh": "{line} K={k}，{lives} 次全新启动：{speedup}",
    "both_figures": "{load} 时各个 K 的加速比",
    "both_missing": "两份结果文件在共同的负载点上都没有随 K 变化的曲线。",
    "col_k": "K",
    # --- the figures
    "rows_about": (
        "横条是“新 ÷ 旧”的区间，竖线是它的值；灰色部分是容差，在其中不算有差别。左边是变小，右边是变大；时间越小越好。"
    ),
    "rows_at": "{load} 时新的与旧的相比",
    "col_figure": "项目",
    "col_old": "旧",
    "col_new": "新",
    "col_ratio": "新 ÷ 旧",
    "col_drawn": "{low}x 到 {high}x",
    "rows_tolerance": "容差 {tolerance}",
    "col_verdict": "判断",
    # --- set-ups
    "setups_same": "有记录的都没有变化。",
    "setups_of": "有记录的全部差别",
    "col_field": "项目",
    "col_cause": "可能是原因",
    "setups_no_cause": "不是",
    "setups_none": "无",
    # --- start and memory
    "room_about": "启动：从启动进程到能够应答的时间，取各次引擎启动的中位数。内存：取自引擎的日志，按一个设备计。",
    "room_of": "两次测量的启动时间与内存",
    "room_row": "{side}，{setting}",
    "room_plain": "不用投机解码",
    "room_unknown": "{side}的结果文件旁边没有记录：启动时间不知道。",
    "col_sweep": "测量与配置",
    "col_start": "启动",
}
