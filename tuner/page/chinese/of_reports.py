"""Headings of the Markdown report and what stands around its tables, in Chinese."""

OF_REPORTS = {
    # --- headings
    "Speculative decoding for {target}": "{target} 的投机解码",
    "What to keep in mind": "需要注意的",
    "Why": "原因",
    "Acceptance": "接受率",
    "Best K and inflection point": "最好的 K 与拐点",
    "Candidates without figures": "没有测得数字的候选配置",
    "What this rests on": "依据",
    "Draft and target apart": "草稿模型与目标模型分开计时",
    "What the engine changed by itself": "引擎自行改动的设置",
    "The device meanwhile": "测量期间的设备状态",
    "What speculation drags along": "投机解码连带改变的设置",
    "Tried again with other arguments": "换了参数再试的",
    "What decided: {metric}": "以什么为准：{metric}",
    "Limits": "限制",
    "Fresh engine lives": "全新的引擎启动",
    "Same output": "输出是否相同",
    "K schedule": "K 调度表",
    "By concurrency": "按并发",
    "By concurrency, temperature {t:d}": "按并发，温度 {t}",
    "Not measured": "没有测量的",
    "Against the last sweep": "与上一次测量相比",
    "Started from the last sweep": "从上一次测量开始",
    "Noise of the engine": "引擎的噪声",
    # --- around the tables
    "Speedup is baseline TPOT / candidate TPOT; the other ratios are candidate / baseline, so a TTFT ratio above "
    "1 means a longer wait for the first token.": (
        "加速比是基线 TPOT ÷ 候选配置 TPOT；其他比值是候选配置 ÷ 基线，所以首 token 延迟之比大于 1 就是首个 token"
        " 等得更久。"
    ),
    "The charts stand in `report.html`; those in `plots/` have English labels.": (
        "图表见 `report.html`；`plots/` 里的图用的是英文标注。"
    ),
    "These tables, the plots and the K curves are of one engine life of each candidate, by which the finalists "
    "were selected. The answer is that of the fresh lives below: its speedup and its K may be others.": (
        "这些表格、图和 K 曲线来自每个候选配置的一次引擎启动，决赛配置由此选出。答案依据下面的全新启动，加速比和 "
        "K 可能不同。"
    ),
    "vLLM has no switch for a concurrency limit: route so that an engine with this setting stays at a concurrency"
    " of {n:d} or less, or start `serve.baseline.yaml` where more is usual.": (
        "vLLM 没有限制并发的开关：请用路由保证这样配置的引擎并发不超过 {n}，平时更高的地方启动 `serve.baseline.yaml`。"
    ),
    "The category of prompts that gains least from {label}:": "从 {label} 收益最小的提示词类别：",
    "{load}: {name:w} {x}, n = {n:d}": "{load}：{name} {x}，n = {n}",
    "Proposed length: tokens a draft. Draft coverage: share of decode steps that had a draft. Accepted by "
    "position: share of all drafts whose token 1, 2, ... was accepted; then the same among those drafts alone "
    "whose token before it was.": (
        "提议长度：每次提议的 token 数。提议覆盖率：有提议的解码步所占的比例。各位置的接受率：全部提议里第 1、2……"
        " 个 token 被接受的比例；其后一列只算前一个 token 被接受的提议。"
    ),
    "The inflection point is the first K from which one more proposed token gains less than {x}, by the upper "
    "bound of its interval.": ("拐点是这样的第一个 K：从它开始，再多提议一个 token，收益不到 {x}（按区间的上限计）。"),
    "engine: {engine} on {where}": "引擎：{engine}，设备 {where}",
    "{n:d} engine lives, {a} of starting and {b} of load": "{n} 次引擎启动，其中启动 {a}，加负载 {b}",
    "{h:d} h {m:d} min": "{h} 小时 {m} 分",
    "{m:d} min {s:d} s": "{m} 分 {s} 秒",
    "{s:d} s": "{s} 秒",
    "each load point: {n} repeats after a warm-up at its own concurrency, a fresh cache salt each; per prompt the"
    " median over repeats, then the geometric mean over prompts of the ratio baseline / candidate": (
        "每个负载点：按它自己的并发预热之后重复 {n} 次，每次换新的 cache salt；每个提示词取各次重复的中位数，再对"
        "提示词取“基线 ÷ 候选配置”的几何平均"
    ),
    "{a:d} to {b:d}": "{a} 到 {b}",
    "eval sets: {what}": "评测集：{what}",
    "{set:w} (the first {n:d} of {of:d} prompts)": "{set}（{of} 个提示词里的前 {n} 个）",
    "{set:w} ({n:d} prompts)": "{set}（{n} 个提示词）",
    "tuner {version}, measured from {when} on": "tuner {version}，从 {when} 开始测量",
    "measured with: `{command}` (to measure all of it again, give another `--out`)": (
        "测量所用的命令：`{command}`（要全部重新测量，就换一个 `--out`）"
    ),
    "Next step: {what:s}: `{command}`": "下一步：{what}：`{command}`",
    "Next step: {what:s}.": "下一步：{what}。",
    "Measure again in a new run directory when the machine is quiet": "等机器安静时，在新的运行目录里重新测量",
    "Finish the sweep: what is measured is kept": "先把这次测量做完，已测的结果会保留",
    "Mend what made the candidates fail and try them again": "先解决候选配置失败的原因，再试一次",
    "Set {setting} in {file} and sweep again": "在 {file} 里设置 {setting}，再测一次",
    "Copy the search space {space} from report.html to {file}, set {setting} in it and sweep with it": (
        "把搜索空间 {space} 从 report.html 复制到 {file}，在里面设置 {setting}，再用它测量"
    ),
    "Write an eval set of about {n:d} prompts like yours to {file} and sweep with it": (
        "把大约 {n} 个与你的流量相似的提示词写成评测集 {file}，再用它测量"
    ),
    "reading the weights takes {a} of each decode step ({how}): {share} of the baseline's TPOT at concurrency 1": (
        "每个解码步里读权重要 {a}（{how}）：占基线在并发 1 时 TPOT 的 {share}"
    ),
    "{a:w} GB at {b:w} TB/s": "{a} GB，{b} TB/s",
    "{label} (`{where}`): {why:s}": "{label}（`{where}`）：{why}",
    "without speculation too": "不用投机解码时也有",
    "with every draft": "每个草稿模型都有",
    "without speculation too:": "不用投机解码时也有：",
    "with every draft:": "每个草稿模型都有：",
    "{names}:": "{names}：",
    "Each model served alone with the same engine arguments: geometric means over prompts, with 95 % intervals. "
    "The two models answer with different texts, so the ratio is not paired by prompt. A draft should be 5x, "
    "better 10x, faster than its target.": (
        "每个模型以同样的引擎参数单独运行：对提示词取几何平均，附 95 % 区间。两个模型的回答不同，所以比值没有按提"
        "示词配对。草稿模型应当比目标模型快 5x，最好 10x。"
    ),
    "n-gram proposes without a model, so its step over a plain step shows what verifying K tokens costs: TPOT x "
    "effective tokens per step / TPOT of the baseline. Its proposing costs little, not nothing, and what "
    "speculation makes the engine change is in it. Steps without a match (1 - coverage) are plain ones: a step "
    "with a draft grew by more.": (
        "n-gram 提议时不用模型，所以它的一步与普通一步之比显示验证 K 个 token 的代价：TPOT × 有效的每步 token 数 "
        "÷ 基线的 TPOT。它提议花得少，但不是零，投机解码使引擎改动的设置也算在内。没有匹配的步（1 − 覆盖率）是普"
        "通步：有提议的步变长得更多。"
    ),
    "{draft} could not be served alone: {why:s}": "{draft} 不能单独运行：{why}",
    "{draft} was not served alone: {why:s}": "{draft} 没有单独运行：{why}",
    "A GPU that is less busy with a draft than without spends the rest waiting for its host: fewer launches would"
    " help it more than less work.": (
        "使用草稿模型时 GPU 占用反而更低，说明其余时间在等主机：减少启动次数比减少计算更有用。"
    ),
    "speedup = (settings alone) x (speculation alone). Settings alone: the second baseline over the plain one; "
    "below 1 the settings cost, whoever uses them. Speculation alone: the candidate over the second baseline. The"
    " second baseline was measured in one engine life.": (
        "加速比 = （仅这些设置）×（仅投机解码）。仅这些设置：第二基线与普通基线之比，小于 1 说明这些设置本身就有"
        "代价。仅投机解码：候选配置与第二基线之比。第二基线只启动一次引擎测得。"
    ),
    "A second baseline without speculation, with {what} (`{how}`):": (
        "不用投机解码、但带上 {what} 的第二基线（`{how}`）："
    ),
    "changed too, and not reproducible without speculation: `{line}`": (
        "还改动了这一项，不用投机解码时无法重现：`{line}`"
    ),
    "p95 over the requests of all repeats that count, without an interval. A setting that is above a limit at a "
    "load point cannot win there.": (
        "p95 取自全部有效重复的请求，没有区间。在某个负载点超出限制的配置不能在那里胜出。"
    ),
    "E2E latency decided: baseline / candidate, over prompts whose answers have one length in both arms. The "
    "tables above show TPOT beside it.": (
        "以端到端延迟为准：基线 ÷ 候选配置，只算两边回答长度相同的提示词。上面的表格同时给出 TPOT。"
    ),
    "Throughput decided: output tokens per second of wall time with a fixed number of requests in flight, "
    "candidate / baseline. The tables above show TPOT beside it.": (
        "以吞吐量为准：固定并发下每秒墙钟时间输出的 token 数，候选配置 ÷ 基线。上面的表格同时给出 TPOT。"
    ),
    "{what:s} K curves and plots are of {metric} too.": "{what}K 曲线和图也按 {metric} 计。",
    "After selection the winner, its closest rival and their baselines were measured again, in rounds of one life"
    " each, started one after another: the best of many single figures is too high on average, and two lives of "
    "one engine can differ by more than the effect.": (
        "选出之后，优胜者、最接近的对手和它们的基线又一轮一轮地重新测量，每轮各启动一次：许多个数字里最好的那个平"
        "均会偏高，而同一个引擎的两次启动之间的差别可能比效果还大。"
    ),
    "The answer comes from these lives alone.": "答案只来自这些启动。",
    "They are fewer than an answer needs: it still is that of the single lives.": (
        "它们少于一个答案所需的次数：答案仍依据单次启动。"
    ),
    "an effect of {x:w} would be seen in nine of ten sweeps like this one": "像这样的测量十次里有九次能看出 {x} 的差别",
    "{what}; from life to life the speedup differs by {a:w} (SD), and the repeats within a life add {b:w}.": (
        "{what}；从一次启动到下一次，加速比相差 {a}（标准差），一次启动之内的重复再加 {b}。"
    ),
    "{what}; lives differed no more than their repeats explain ({a:w} SD).": (
        "{what}；各次启动之间的差别没有超出重复所能解释的（标准差 {a}）。"
    ),
    "At temperature {t:d}: {what:s}": "温度 {t}：{what}",
    "{metric} decided, and the rounds are of it; prompts like these are asked of TPOT.": (
        "以 {metric} 为准，各轮也按它计；“对同类提示词”一列按 TPOT 计。"
    ),
    "Before selection, in one life, {label} showed {x}.": "选出之前，在一次启动里 {label} 测得 {x}。",
    "SD of log TPOT, so 1 % is a factor of 1.01; 95 % intervals by chi-square. Within a life: from repeat to "
    "repeat. Life to life: what lives differ by beyond their repeats. Smallest speedup: what rounds of a "
    "candidate's and its baseline's life would tell from none in nine of ten sweeps, at the level that the "
    "verdict asks for; a baseline's row supposes a candidate that is as steady as itself.": (
        "对数 TPOT 的标准差，1 % 即 1.01 倍；95 % 区间由卡方分布得出。一次启动之内：各次重复之间。启动之间：超出"
        "重复的那部分差别。能看出的最小加速比：候选配置与基线各轮启动在十次测量里有九次能与没有区分开的加速比，按"
        "结论所要求的置信水平；基线那一行假定候选配置与它一样稳定。"
    ),
    "Answers at temperature 0 are compared by token id with the baseline's own, and the baseline's with one "
    "another. Where answers part at a near-tie, rounding decides and either token is the target's choice. How near is "
    "said in nats, the natural logarithm of how many times as likely one token is as the other: 0 nats is a tie.": (
        "温度 0 的回答按 token id 与基线比较，基线自己的各次回答也互相比较。在两个 token 几乎同样可能的地方分开时"
        "，由舍入决定，哪个 token 都是目标模型的选择。差多少用 nat 表示，即两个 token 概率之比的自然对数：0 nat 就是"
        "一样可能。"
    ),
    "`max_num_scheduled_tokens` is how many tokens of all requests one step may compute. With drafts vLLM keeps room "
    "for draft tokens and schedules fewer others, so that long prompts may take more steps.": (
        "`max_num_scheduled_tokens` 是一步最多计算的 token 数（所有请求合计）。有提议时 vLLM 要给草稿 token 留位置，"
        "其他 token 就少调度一些，长提示词可能要多走几步。"
    ),
    "Both speedups are over no speculation, from the same rounds of fresh engine lives. Drafted: draft tokens a "
    "draft, by the engine's counters. Per step: draft tokens a decode step, then what the schedule allows for "
    "with the batches that the requests were seen in, which are smaller than the concurrency while one request "
    "takes the place of another and at the end of a pass.": (
        "两个加速比都相对不用投机解码，来自同样几轮全新的引擎启动。提议数：引擎计数器给出的每次提议的 token 数。"
        "每步：每个解码步提议的 token 数，括号里是按实际批次调度表允许的范围；请求交接时和一轮结束时，批次比并发"
        "小。"
    ),
    "`{ranges}`, {n:d} engine {lives:w} of each:": "`{ranges}`，各 {n} 次引擎启动：",
    "Batches above {n:d} were not measured: the engine goes on with K = {k:d} there. Prefills count for the batch"
    " size.": ("批大小超过 {n} 的没有测量：引擎在那里继续用 K = {k}。prefill 也计入批大小。"),
    "Its serve file varies K with the batch size, `{ranges}`: measured so, it runs at {x} of no speculation over "
    "all load points (see K schedule).": (
        "它的启动文件按批大小切换 K，`{ranges}`：这样实测，在全部负载点上速度是不用投机解码时的 {x}（见 K 调度表）。"
    ),
    "Its serve file varies K with the batch size, {ranges}: measured so, it runs at {x} of no speculation over "
    "all load points (see K schedule).": (
        "它的启动文件按批大小切换 K，{ranges}：这样实测，在全部负载点上速度是不用投机解码时的 {x}（见 K 调度表）。"
    ),
    "Best: of what is clearly faster than no speculation the fastest, or the smallest such K of its draft that noise "
    "does not separate from it; no speculation where nothing is. What was measured faster still, and is not clearly "
    "so, stands among what noise does not exclude. Only measured K are compared. Each interval is one of 95 % by "
    "itself: for the verdict more is asked. Where a figure is of one engine life, it is that of the best of several, "
    "and too high on average.": (
        "最好的：在明显快于不用投机解码的配置里，最快的，或同一草稿模型里与它分不出快慢的最小的 K；没有明显更快的就不"
        "用投机解码。测得更快、但不明显快于不用的，列在分不出快慢的里面。只比较测过的 K。每个区间各自是 95 %：结论要"
        "求得更严。只启动一次引擎的数字是几个里最好的那个，平均会偏高。"
    ),
    "the geometric mean of {metric} ratios by {weights}": "{metric} 之比按{weights}加权的几何平均",
    "{over}, {label} is the best single K: {x}, the geometric mean of {metric} ratios by {weights}.": (
        "{over}，最好的一个 K 是 {label}：{x}（{metric} 之比按{weights}加权的几何平均）。"
    ),
    "{over}, {label} is the best single K: {x}, {how}.": "{over}，最好的一个 K 是 {label}：{x}，{how}。",
    "{over}, {what} than no speculation; {nearest}.": "{over}，与不用投机解码相比{what}；{nearest}。",
    "every single K is slower": "每一个 K 都更慢",
    "no single K is clearly faster": "没有一个 K 明显更快",
    "nearest is {label}: {x}, {how}": "最接近的是 {label}：{x}，{how}",
    "Over the traffic": "按流量",
    "Over the traffic ({source}: {n:d} samples, {idle:w} of them idle)": (
        "按流量（{source}：{n} 个样本，其中 {idle} 空闲）"
    ),
    "({source}: {n:d} samples, {idle:w} of them idle)": "（{source}：{n} 个样本，其中 {idle} 空闲）",
    "Over all load points": "综合全部负载点",
    "shares of busy time": "忙碌时间占比",
    "their weights": "权重",
    "{share:w} of the busy time is not covered.": "有 {share} 的忙碌时间没有覆盖。",
    "With the best K at each concurrency, speculation {effects}.": "每个并发都用该处最好的 K 时，投机解码{effects}。",
    "With the best K at each concurrency, and with {label} at all of them, speculation {effects}.": (
        "无论每个并发都用该处最好的 K，还是全部用 {label}，投机解码{effects}。"
    ),
    "With the best K at each concurrency{also:o}, speculation {effects}.": (
        "每个并发都用该处最好的 K 时{also}，投机解码{effects}。"
    ),
    ", and with {label} at all of them": "（全部用 {label} 时也一样）",
    "With {label} at all of them it {effects}.": "全部用 {label} 时，它{effects}。",
    '"Pays" is said here by an interval of 95 % alone. It is not enough for a verdict: {n:d} candidates were tried, '
    "and one of them may look good by luck, so each claim has to be {needed} sure.": (
        "这里的“划算”只按单独一个 95 % 区间来说，还不足以下结论：试了 {n} 个候选配置，其中一个可能"
        "只是碰巧看起来好，所以每个结论都要有 {needed} 的把握。"
    ),
    "pays at {at:l}": "在并发 {at} 时划算",
    "cannot be told from none at {at:l}": "在并发 {at} 时与不用分不出快慢",
    "is slower at {at:l}": "在并发 {at} 时更慢",
    "{what}: it stops paying between {a:d} and {b:d}": "{what}：在 {a} 与 {b} 之间不再划算",
    "{what}, that is wherever it was measured: where it stops paying is above {n:d}": (
        "{what}，也就是测过的地方都划算：不再划算的并发在 {n} 以上"
    ),
    "{what}: where it stops paying is not known": "{what}：从哪里开始不再划算，还不知道",
}
