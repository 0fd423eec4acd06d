"""What the analysis says of an answer and how sure it is, in Chinese."""

OF_ANSWERS = {
    # --- the smallest parts
    "{set:w}, concurrency {n:d}, T={t:d}, up to {tokens:d} tokens": "{set}，并发 {n}，T={t}，最多 {tokens} 个 token",
    "{set:w}, concurrency {n:d}, T={t:d}, exactly {tokens:d} tokens": "{set}，并发 {n}，T={t}，正好 {tokens} 个 token",
    "concurrency {n:d}": "并发 {n}",
    "{n:d} prompts": "{n} 个提示词",
    "1 prompt": "1 个提示词",
    "{n:d} prompts each": "各 {n} 个提示词",
    "{n:d} repeats": "{n} 次重复",
    "1 repeat": "1 次重复",
    "{n:d} rounds": "{n} 轮",
    "{n:d} drafts": "{n} 次提议",
    "{n:d} steps": "{n} 步",
    "{n:d} requests": "{n} 个请求",
    "n = {what}": "n = {what}",
    "{n:d} of {of:d}": "{n} / {of}",
    "no speculation": "不用投机解码",
    "not known": "不知道",
    "not measured": "没有测量",
    "over {lives:d} engine lives": "跨 {lives} 次引擎启动",
    "over {lives:d} lives": "跨 {lives} 次启动",
    "over 1000%": "超过 1000%",
    "one engine life": "一次引擎启动",
    "one engine life each": "各一次引擎启动",
    "{n:d} engine lives": "{n} 次引擎启动",
    "within one engine life": "在一次引擎启动之内",
    "within this engine life": "在这一次引擎启动之内",
    "95 % {low:d}-{high:d}": "95 % 区间 {low}-{high}",
    "95 % {interval:w}": "95 % 区间 {interval}",
    "no interval": "没有区间",
    "E2E latency": "端到端延迟",
    "throughput": "吞吐量",
    "wall time per output token": "每个输出 token 的墙钟时间",
    "at temperature {t:d}": "温度 {t}",
    "at concurrency {n}": "并发 {n} 时",
    "less than 1 %": "不到 1 %",
    # --- the verdict
    "speculate": "使用投机解码",
    "speculate_below": "只在低并发时使用投机解码",
    "do_not": "不要使用投机解码",
    "speculate: {draft}, K = {k:d}": "使用投机解码：{draft}，K = {k}",
    "speculate at a concurrency of up to {up_to}, not at {below}": (
        "并发不超过 {up_to} 时使用投机解码，到 {below} 时不用"
    ),
    "speculate at a concurrency of up to {up_to}, not at {below}: {draft}, K = {k:d}": (
        "并发不超过 {up_to} 时使用投机解码，到 {below} 时不用：{draft}，K = {k}"
    ),
    "do not speculate": "不要使用投机解码",
    "inconclusive": "无法判断",
    "inconclusive: do not speculate until a better measurement says so": (
        "无法判断：在更好的测量证明划算之前，不要使用投机解码"
    ),
    "**At temperature {t:d}: {verdict}.** {why:s}": "**温度 {t}：{verdict}。** {why}",
    "**Not finished. So far, at temperature {t:d}: {verdict}.** {why:s}": (
        "**还没有完成。到目前为止，温度 {t}：{verdict}。** {why}"
    ),
    "Not finished. So far, at": "还没有完成。到目前为止，",
    # --- why
    "{label} runs at {x:d} of no speculation ({evidence})": "{label} 的速度是不用投机解码时的 {x}（{evidence}）",
    "{label} runs at {x:d} of no speculation ({evidence}); no load point was measured slower.": (
        "{label} 的速度是不用投机解码时的 {x}（{evidence}）；没有哪个负载点测得更慢。"
    ),
    "{what}; no load point was measured slower.{tie:o}": "{what}；没有哪个负载点测得更慢。{tie}",
    "{label} has no speedup": "{label} 没有加速比",
    "no speedup": "没有加速比",
    "Up to concurrency {n:d}: {what}": "并发不超过 {n} 时：{what}",
    "Up to concurrency {n:d}: {what:s} Above that no candidate keeps to the limits.": (
        "并发不超过 {n} 时：{what}再往上，没有候选配置守得住限制。"
    ),
    "At concurrency {n:d}: {what}.": "并发 {n} 时：{what}。",
    "Between {low:d} and {high:d} nothing was measured.": "{low} 与 {high} 之间没有测量。",
    "Between {low:d} and {high:d} the result is not clear (measured at {at}).": (
        "{low} 与 {high} 之间结果不明确（测了 {at}）。"
    ),
    "Up to concurrency {n:d} {label} was measured faster ({evidence}), and not slower above, but that it pays is not "
    "proven: measured more, it may be the answer at every concurrency.": (
        "并发不超过 {n} 时 {label} 测得更快（{evidence}），再往上也没有测得更慢，只是还没有证实划算："
        "多测一些，它也许就是所有并发下的答案。"
    ),
    "At concurrency {n:d} {label} is faster ({evidence}): it would need an engine of its own.": (
        "并发 {n} 时 {label} 更快（{evidence}），但它需要单独一个引擎。"
    ),
    "{label} was measured at {x:d} of it (95 % {interval:w}), which is not proven: the smaller K is taken.": (
        "{label} 测得是它的 {x}（95 % 区间 {interval}），但没有得到证实，所以取较小的 K。"
    ),
    "{label} was measured faster, which one observation cannot prove: the smaller K is taken.": (
        "{label} 测得更快，但一次观测证明不了，所以取较小的 K。"
    ),
    "{what} is slower than no speculation; the best of {n:d}, {label}.": (
        "{what}都比不用投机解码慢；{n} 个里最好的一个，{label}。"
    ),
    "What was measured again in fresh lives": "在全新启动里重新测量的",
    "Every candidate that could be measured and compared": "能测量和比较的候选配置",
    "{what} may win is slower than no speculation, but {faster}": "{what}都比不用投机解码慢，但是 {faster}",
    "What was measured again and": "重新测量过、可以胜出的",
    "Every candidate that": "可以胜出的候选配置",
    "{label} was measured faster ({evidence}) and cannot win: {why}.": (
        "{label} 测得更快（{evidence}），却不能胜出：{why}。"
    ),
    "{what}, but slower at {there}: decide by your traffic.": "{what}，但在 {there} 时更慢：请按自己的流量决定。",
    "No speculative candidate gave a measurement.": "没有一个投机解码的候选配置测得结果。",
    "{what} may win. {label}: {why}.": "{what}可以胜出。{label}：{why}。",
    "None of those measured again in fresh lives": "在全新启动里重新测量的都不",
    "No speculative candidate": "没有一个投机解码的候选配置",
    "Provisional: the baseline was measured once, so drift is unknown.": "这是暂定的结论：基线只测了一次，漂移不知道。",
    "{why:s} But {label} was faster in its single life ({x}) and was not measured as often: lives differ more than "
    "the single ones showed.": (
        "{why}但是 {label} 在只启动一次时更快（{x}），而且没有测那么多次：各次启动之间的差别比单次看到的大。"
    ),
    "{what}, prompts as a sample": "{what}，把提示词看作样本",
    "{what}, prompts like these": "{what}，同类提示词",
    "{n:w} of its answers, {m:w} of the baseline's,": "它的回答里有 {n}、基线的有 {m}",
    "no speedup could be computed": "算不出加速比",
    "over the load points up to concurrency {n}; {what}": "并发不超过 {n} 的负载点；{what}",
    # --- what limits it
    "{why}; only an effect of {smallest} could have been seen, and {remedy} would settle {effect}": (
        "{why}；只有{smallest}的差别才看得出来，再测{remedy}就能确认 {effect} 的差别"
    ),
    "{why}; only an effect of {smallest} could have been seen": "{why}；只有{smallest}的差别才看得出来",
    "only an effect of {smallest} could have been seen": "只有{smallest}的差别才看得出来",
    "{effect} or more": " {effect} 或更大",
    ", and {remedy} would settle {effect}": "，再测{remedy}就能确认 {effect} 的差别",
    "too little to tell from no speculation with {n}": "只有 {n}，不足以与不用投机解码区分开",
    "about {n:d} fresh engine lives": "大约 {n} 次全新的引擎启动",
    "about {n:d} repeats per engine life": "每次启动大约 {n} 次重复",
    "about {n:d} prompts": "大约 {n} 个提示词",
    "one prompt gives no interval, more prompts are needed": "只有一个提示词算不出区间，需要更多提示词",
    "one repeat gives no interval, more repeats are needed": "只有一次重复算不出区间，需要更多重复",
    "one {what:w} gives no interval, more {them:w}s are needed": "只有一个{what}算不出区间，需要更多",
    "prompt": "提示词",
    "prompts": "提示词",
    "repeat": "重复",
    "from one engine life to the next the speedup differs by {sd:w} (SD)": (
        "从一次启动到下一次，加速比相差 {sd}（标准差）"
    ),
    "{what}, and its repeats add {sd:w}": "{what}，各次重复再加 {sd}",
    "not enough to be sure at the level that a sweep's claims share; {what}": (
        "按一次测量的全部结论共用的置信水平还不够确定；{what}"
    ),
    "not enough to be sure at the level that a sweep's claims share;": "按一次测量的全部结论共用的置信水平还不够确定；",
    "the baseline itself drifted, {how}": "基线自己有漂移，{how}",
    "on average": "平均",
    "on average {what}": "平均{what}",
    "two of its lives differ by {x:w}, and which is slower differs too": "两次启动相差 {x}，哪次更慢也不一致",
    "an earlier life was {x} slower than a later one": "前面的启动比后面的慢 {x}",
    "a later life was {x} slower than an earlier one": "后面的启动比前面的慢 {x}",
    "a later life": "后面的启动",
    "an earlier life": "前面的启动",
    "a later one": "后面的",
    "an earlier one": "前面的",
    "{slower} was {x} slower than {faster}": "{slower}比{faster}慢 {x}",
    "not enough to be sure with {n:d} candidates to choose from": "要从 {n} 个候选配置里选，这还不够确定",
    # --- limits
    "No speculative candidate keeps to the limits at concurrency {n}. {label}: {why}.": (
        "并发 {n} 时没有一个投机解码的候选配置守得住限制。{label}：{why}。"
    ),
    "At concurrency {n} only speculation keeps to the limits ({with_}; without: {without}).": (
        "并发 {n} 时只有投机解码守得住限制（{with_}；不用时：{without}）。"
    ),
    "No setting of this engine keeps to the limits at concurrency {n} (without speculation: {without}).": (
        "并发 {n} 时这个引擎没有一个配置守得住限制（不用投机解码：{without}）。"
    ),
    "{label} at {load}: {why}; another measurement may decide otherwise.": "{label}，{load}：{why}；再测一次可能不同。",
    "p95 {name:w} {value:w} s over {n:d} requests, the limit is {limit:w} s": (
        "p95 {name} 为 {value} 秒（{n} 个请求），限制是 {limit} 秒"
    ),
    "p95 {name:w} {value:w} s over {n:d} requests, the limit is {limit:w} s, near it": (
        "p95 {name} 为 {value} 秒（{n} 个请求），限制是 {limit} 秒，接近限制"
    ),
    ", near it": "，接近限制",
    "near it": "接近限制",
    # --- what may not win
    "{label} cannot win: {why:s}": "{label} 不能胜出：{why}",
    "{label} cannot win at T={t}: {why:s}": "{label} 在 T={t} 时不能胜出：{why}",
    "foreign traffic": "外来流量",
    "{n:d} of {of:d} requests failed over {lives:d} fresh lives, {m:d} of {base:d} of the baseline's": (
        "{lives} 次全新启动里 {of} 个请求有 {n} 个失败，基线 {base} 个有 {m} 个"
    ),
    "no baseline was measured on the same device with the same engine arguments": (
        "没有在同一设备上用同样的引擎参数测过基线"
    ),
    "not measured at {load}": "没有在 {load} 测量",
    "{n:d} of its requests failed, {m:d} of the baseline's": "它有 {n} 的请求失败，基线有 {m}",
    "{n:d} preemptions where the baseline had none: it does not fit the memory": (
        "发生 {n} 次抢占，基线没有：内存放不下"
    ),
    "its max_model_len is {a}, the baseline's {b}": "它的 max_model_len 是 {a}，基线的是 {b}",
    "{n:d} of its fresh lives failed: {why:s}": "它的全新启动有 {n} 次失败：{why}",
    "no reference baseline on its device": "它的设备上没有可参照的基线",
    "{what}; also at {n:d} more load points": "{what}；另有 {n} 个负载点也是",
    "{what}; also at {n:d} more load point": "{what}；另有 {n} 个负载点也是",
    "are empty or repeat themselves": "是空的，或者不断重复",
    "repeat themselves": "不断重复",
    "{n} miss the reference ({example})": "{n} 没有答出参考答案（{example}）",
    "its answers are {x:w} times as long as the baseline's (geometric mean over {n:d} prompts)": (
        "它的回答长度是基线的 {x} 倍（{n} 个提示词的几何平均）"
    ),
    "{n:w} of its answers, {m:w} of the baseline's, {what}": "它的回答里有 {n}、基线的有 {m} {what}",
    "{n:d} prompts, p = {p:w}, for one {example}": "{n} 个提示词，p = {p}，例如 {example}",
    # --- same output
    "identical": "相同",
    "the same but for near-ties": "除几乎同样可能的 token 外相同",
    "some part, cause not known": "有些不同，原因不明",
    "no difference found": "没有发现差别",
    "differ": "不同",
    "not compared": "没有比较",
    "{n:d} of {of:d} answers have the baseline's token ids (its own among themselves: {own})": (
        "{of} 个回答里有 {n} 个与基线的 token 完全相同（基线自己各次之间：{own}）"
    ),
    "not clearly more than it differs from itself (p = {p:w})": "没有明显多于它自己各次之间的差别（p = {p}）",
    "more than its own differences explain (p = {p:w})": "多于它自己各次之间的差别所能解释的（p = {p}）",
    "its probabilities are not known where {n:d} of them part": "其中 {n} 个分开之处的概率不知道",
    "the others part where its two best tokens are at most {x:w} nats apart": (
        "其余的在它最可能的两个 token 最多相差 {x} nat 处分开"
    ),
    "at {where} it prefers its own token by {x:w} nats, which is no rounding": (
        "在{where}它偏向自己的 token {x} nat，这不是舍入"
    ),
    "token {n:d} of {id:w}": "{id} 的第 {n} 个 token",
    "how far it differs from itself is not known from one repeat": "只有一次重复，不知道它自己各次之间差多少",
    "there are no answers with token ids of {what} at this load point": "这个负载点上没有{what}的带 token id 的回答",
    "the trial": "这次试验",
    "its baseline": "它的基线",
    "both to any one prompt": "两者对同一提示词",
    "sampled answers differ by chance; --check-distribution compares their distribution": (
        "采样得到的回答本来就有随机差别；--check-distribution 可以比较它们的分布"
    ),
    "first tokens of {n:d} sampled answers to {m:d} prompts against the baseline's: p = {p:w}": (
        "{m} 个提示词的 {n} 个采样回答的首个 token 与基线相比：p = {p}"
    ),
    # --- curves
    "not resolved": "没有测出来",
    "not resolved: at most K = {k:d}; {gaps}": "没有测出来：最大是 K = {k}；{gaps}",
    "K = {k} is not measured": "K = {k} 没有测量",
    "K = {k} are not measured": "K = {k} 没有测量",
    "K = {k} was not measured": "K = {k} 没有测量",
    "K = {k} were not measured": "K = {k} 没有测量",
    "K = {k:d} {be:w} not measured": "K = {k} 没有测量",
    "one {what:w} gives no interval": "只有一个{what}算不出区间",
    "not reached: every token up to K = {k:d} gains {x:w} % or more": (
        "还没有到：直到 K = {k}，每多一个 token 都有 {x} % 或更多的收益"
    ),
    "not resolved: no K up to {k:d} is followed by a gain that is clearly below {x:w} %": (
        "没有测出来：到 {k} 为止，没有哪个 K 之后的收益明显低于 {x} %"
    ),
    "no baseline at this load point": "这个负载点没有基线",
    "no prompt was measured at both K": "没有在两个 K 上都测过的提示词",
    "the curve clearly rises again after K = {k:d}: see the best K": "K = {k} 之后曲线又明显上升：见最好的 K",
}
