"""What `tuner compare` says, in Chinese."""

OF_COMPARISONS = {
    "**{what:s}**": "**{what:s}**",
    "OLD": "旧",
    "NEW": "新",
    "NEW / OLD": "新 ÷ 旧",
    "figure": "项目",
    "tolerance": "容差",
    "verdict": "判断",
    "OLD recommends": "旧的推荐",
    "NEW recommends": "新的推荐",
    "Speculative decoding: {verdict}": "投机解码：{verdict}",
    "**Speculative decoding: {verdict}.**": "**投机解码：{verdict}。**",
    # --- the lines around the table in a terminal
    "what would tell": "这样测就能分清",
    "recommended at T={t:d}: {what:s}": "T={t} 时的推荐：{what}",
    "{what}, as before": "{what}，和以前一样",
    "taken apart": "拆开来看",
    # --- the sentence
    "better": "更好",
    "the same, or better, within the tolerances": "在容差之内相同，或更好",
    "worse": "更差",
    "same": "相同",
    "cannot tell": "无法判断",
    "same or better": "相同或更好",
    "better (explains)": "更好（仅供解释）",
    "worse (explains)": "更差（仅供解释）",
    "same (explains)": "相同（仅供解释）",
    "cannot tell (explains)": "无法判断（仅供解释）",
    "same or better (explains)": "相同或更好（仅供解释）",
    "speculation got better": "投机解码变好了",
    "speculation is as it was": "投机解码和以前一样",
    "speculation got worse": "投机解码变差了",
    "whether speculation changed cannot be told": "无法判断投机解码有没有变化",
    "the engine's baseline got faster": "引擎的基线变快了",
    "the engine's baseline is as fast as it was": "引擎的基线和以前一样快",
    "the engine's baseline got slower": "引擎的基线变慢了",
    "whether the engine's baseline changed cannot be told": "无法判断引擎的基线有没有变化",
    "is as it was": "和以前一样",
    "cannot be told": "无法判断",
    "acceptance length is as it was": "接受长度和以前一样",
    "acceptance length cannot be told": "接受长度无法判断",
    "cost of a step with a draft is as it was": "带提议的一步的代价和以前一样",
    "cost of a step with a draft cannot be told": "带提议的一步的代价无法判断",
    "fewer tokens are accepted": "接受的 token 变少",
    "more tokens are accepted": "接受的 token 变多",
    "a step with a draft takes longer, compared with a step without": "带提议的一步相对不带的变长了",
    "a step with a draft takes less, compared with a step without": "带提议的一步相对不带的变短了",
    "the engine without speculation got faster": "不用投机解码的引擎变快了",
    "the engine without speculation got slower": "不用投机解码的引擎变慢了",
    "steps with a draft did not get faster by as much": "带提议的一步没有变快那么多",
    "steps with a draft did not get slower by as much": "带提议的一步没有变慢那么多",
    "{cause}: {figure} {x:w} ({interval:w}) {where}": "{cause}：{figure} {x}（{interval}），{where}",
    "acceptance length {x:w} ({interval:w}) {where}": "接受长度 {x}（{interval}），{where}",
    "baseline's TPOT {x:w} ({interval:w}) {where}": "基线的 TPOT {x}（{interval}），{where}",
    "{x:d} ({interval:w}) {where}": "{x}（{interval}），{where}",
    "at {set:w}, concurrency {rest}": "{set}，并发 {rest}",
    "{first} and at {set:w}, concurrency {rest}": "{first}、{set}，并发 {rest}",
    "{n:d}, T={t:d}, up to {tokens:d} tokens": "{n}，T={t}，最多 {tokens} 个 token",
    "{n:d}, T={t:d}, exactly {tokens:d} tokens": "{n}，T={t}，正好 {tokens} 个 token",
    "at all {n:d} load points": "全部 {n} 个负载点",
    "where it changed most, seen {where}": "取变化最大处，见于{where}",
    "and at": "和",
    # --- figures
    "baseline's TPOT": "基线的 TPOT",
    "baseline's TTFT": "基线的首 token 延迟（TTFT）",
    "TTFT": "首 token 延迟（TTFT）",
    "cost of a step with a draft": "带提议的一步的代价",
    "speedup": "加速比",
    "unknown": "不知道",
    "{load}: speedup {a}, from the baseline's TPOT {b} over TPOT {c}; acceptance length {d}, cost of a step with "
    "a draft {e}": ("{load}：加速比 {a}，由基线的 TPOT {b} 除以 TPOT {c} 而来；接受长度 {d}，带提议的一步的代价 {e}"),
    "Intervals of NEW / OLD hold at {a:w} % each where they decide and {b:w} % where they explain, so that all "
    "together do in 95 % of comparisons or more. Worse and better need the interval beyond the tolerance, same "
    "needs it inside. OLD and NEW have 95 %.": (
        "“新 ÷ 旧”的区间在用来判断时各为 {a} %，在仅供解释时各为 {b} %，使全部区间一起在 95 % 或更多的比较里成立"
        "。判断为更差或更好，要求整个区间超出容差；判断为相同，要求它在容差之内。旧与新各自的区间是 95 %。"
    ),
    "{intervals:s} OLD: {old}, NEW: {new}.": "{intervals} 旧：{old}，新：{new}。",
    "{n:d} of {of:d} open figures would be settled by about {lives:d} engine lives in each sweep (protocol: "
    "lives: {l:d} in the search space).": (
        "{of} 个未定的项目里有 {n} 个，每次测量约 {lives} 次引擎启动就能确定（在搜索空间里设 protocol: lives: {l}）。"
    ),
    "{n:d} of {of:d} open figures would be settled by about {lives:d} engine lives in each sweep (`protocol: "
    "lives: {l:d}` in the search space).": (
        "{of} 个未定的项目里有 {n} 个，每次测量约 {lives} 次引擎启动就能确定（在搜索空间里设 `protocol: lives: {l}`）。"
    ),
    "{n:d} of {of:d} open figures would not soon be settled by more lives: too near the edge of the tolerance for"
    " what they vary by.": ("{of} 个未定的项目里有 {n} 个，多启动几次也难以确定：就其波动而言离容差的边缘太近。"),
    "{n:d} of {of:d} open figures have no interval: lives of an engine differ, and one life does not say by how "
    "much. Sweep with protocol: lives: of 4 or more, and give run directories or registry entries rather than "
    "files.": (
        "{of} 个未定的项目里有 {n} 个没有区间：引擎的各次启动有差别，只启动一次说不出差多少。请以 protocol: "
        "lives: 4 或更多来测，并给出运行目录或登记库的记录，而不是文件。"
    ),
    "{n:d} of {of:d} open figures have no interval: lives of an engine differ, and one life does not say by how "
    "much. Sweep with `protocol: lives:` of 4 or more, and give run directories or registry entries rather than "
    "files.": (
        "{of} 个未定的项目里有 {n} 个没有区间：引擎的各次启动有差别，只启动一次说不出差多少。请以 `protocol: "
        "lives:` 4 或更多来测，并给出运行目录或登记库的记录，而不是文件。"
    ),
    # --- what changed
    "Nothing that is recorded changed between the sweeps.": "两次测量之间，有记录的都没有变化。",
    "Only one thing that is recorded changed, so it is the cause of what differs: {what}.": (
        "有记录的只有一项变了，所以差别就是它造成的：{what}。"
    ),
    "{n:d} things changed at once ({what}), so the cause of a difference cannot be told.": (
        "有 {n} 项同时变了（{what}），所以差别的原因无法判断。"
    ),
    "{a} as in NEW, {b} as in OLD: {command}": "{a}用新的，{b}用旧的：{command}",
    "{a} as in NEW, {b} as in OLD": "{a}用新的，{b}用旧的",
    "target": "目标模型",
    "eval set": "评测集",
    "engine arguments": "引擎参数",
    "environment": "环境变量",
    "driver": "驱动",
    "{n:d} of them": "{n} 个",
    "target ({what})": "目标模型（{what}）",
    "engine ({what})": "引擎（{what}）",
    "draft ({what})": "草稿模型（{what}）",
    "driver ({what})": "驱动（{what}）",
    "eval set ({what})": "评测集（{what}）",
    "engine arguments ({what})": "引擎参数（{what}）",
    "environment ({what})": "环境变量（{what}）",
    "on the GPU of {side}": "使用{side}的 GPU",
    "with the driver of {side}": "使用{side}的驱动",
    "in the environment of {side}": "使用{side}的环境变量",
    "with the tuner of {side}": "使用{side}的 tuner",
    "on the GPU of": "使用 GPU：",
    "with the driver of": "使用驱动：",
    "in the environment of": "使用环境变量：",
    "with the tuner of": "使用 tuner：",
    # --- recommendations and notes
    "speculate: {label:w} K={k:d}": "使用投机解码：{label} K={k}",
    "speculate: {what}": "使用投机解码：{what}",
    "speculate_below: {what}": "只在低并发时使用投机解码：{what}",
    "do_not: {what}": "不要使用投机解码：{what}",
    "inconclusive: {what}": "无法判断：{what}",
    "{what} up to concurrency {n:d}": "{what}，并发不超过 {n}",
    "up to concurrency {n:d}": "并发不超过 {n}",
    ", K by batch size {ranges}": "，按批大小切换 K {ranges}",
    "{what}, K by batch size {ranges}": "{what}，按批大小切换 K {ranges}",
    "OLD is of a sweep that was not finished": "旧的测量没有完成",
    "NEW is of a sweep that was not finished": "新的测量没有完成",
    "{name} is of a sweep that was not finished": "{name}的测量没有完成",
    "not compared: {what:s}": "没有比较：{what}",
    "{load}: NEW alone has it": "{load}：只有新的有",
    "{load}: OLD alone has it": "{load}：只有旧的有",
    "{load}: the eval set {set} has other content": "{load}：评测集 {set} 的内容不同",
    "an engine life has no valid request": "有一次引擎启动没有有效的请求",
    "a round has no prompt that worked in both arms": "有一轮没有在两边都成功的提示词",
    "within one engine life, over its repeats": "在一次引擎启动之内，跨各次重复",
    "the baseline itself changed, so TPOT decides here": "基线自己变了，所以这里以 TPOT 为准",
    "{n:d} prompts were not answered in all lives of both and are left out": (
        "{n} 个提示词没有在两边的全部启动里都答完，不计在内"
    ),
    "no prompt was answered in all lives of both": "没有在两边的全部启动里都答完的提示词",
    "of one engine life": "来自一次引擎启动",
    "the artifact has no interval of it": "结果文件里没有它的区间",
    "the sweep was inconclusive and recommends nothing": "那次测量无法判断，没有推荐配置",
    "no speculation, 1 by definition": "不用投机解码，按定义为 1",
    "tokens per step or speedup were not measured": "没有测得每步 token 数或加速比",
    "the whole load": "整个负载",
    "both": "两者",
    "both: {why}": "两者：{why}",
    "What would tell:": "怎样能分清原因：",
    "The speedup taken apart (NEW / OLD)": "加速比的分解（新 ÷ 旧）",
    "What changed": "有什么变化",
    "Not compared": "没有比较的",
    "Notes": "说明",
}
