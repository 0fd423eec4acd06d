"""What is to be kept in mind, in Chinese: warnings of the analysis, of counters and of devices, what was left out."""

OF_WARNINGS = {
    "the sweep is not finished: this is the state so far": "这次测量还没有完成，以下是目前的状态",
    "the sweep is not finished: this is the state so far ({why})": "这次测量还没有完成，以下是目前的状态（{why}）",
    "the limit {name} ended it": "到了限制 {name} 而结束",
    "open: {what}": "还没有测：{what}",
    "simulated engine": "模拟引擎",
    "simulated engine (as vLLM {version:w})": "模拟引擎（仿照 vLLM {version}）",
    "simulated engine: these figures describe no real model": "引擎是模拟的：这些数字不代表任何真实模型",
    "{what} on {where}, simulated engine": "{what}，设备 {where}，模拟引擎",
    "{what} on {where}, vLLM {version:w}": "{what}，设备 {where}，vLLM {version}",
    "reduced protocol: {what:u}": "缩减的测量方案：{what}",
    "This is a demo: 6 prompts, short answers, 2 repeats and one engine life each, where a real answer needs all "
    "prompts and 3 repeats.": (
        "这是演示：6 个提示词、简短的回答、2 次重复、各一次引擎启动；真正的答案需要全部提示词和 3 次重复。"
    ),
    "{n:d} instead of {of:d} repeats": "只重复 {n} 次，而不是 {of} 次",
    "{n:d} instead of {of:d} fresh engine lives of the finalists": "决赛配置只全新启动 {n} 次，而不是 {of} 次",
    "the baseline is not measured again at the end, so drift is unknown": "结束时没有再测基线，所以漂移不知道",
    "not tried: {label}: {why:s}": "没有尝试：{label}：{why}",
    "left out: {what:s}": "略过：{what}",
    "{n:d} of {of:d} fresh lives of the finalists were measured": "决赛配置的 {of} 次全新启动测了 {n} 次",
    "{what}: the answer is that of the first {n} or more": "{what}：答案依据前 {n} 次或更多",
    "{what}: the answer is of one engine life, and that of the best of many candidates is too high": (
        "{what}：答案来自一次引擎启动，而许多候选配置里最好的那个会偏高"
    ),
    "{n:d} of {of:d} repeats were disturbed, {left:d} of them left out (for one: {example})": (
        "{of} 次重复里有 {n} 次受到干扰，其中 {left} 次不计（例如：{example}）"
    ),
    "{n:d} of {of:d} repeats were disturbed, {left:d} of them left out (for one: {example}); measure again on a "
    "quiet machine": ("{of} 次重复里有 {n} 次受到干扰，其中 {left} 次不计（例如：{example}）；请在安静的机器上重测"),
    "{n:d} of {of:d} repeats were disturbed, {left:d} of them left out": (
        "{of} 次重复里有 {n} 次受到干扰，其中 {left} 次不计"
    ),
    "{which} (for one: {example}){advice:o}": "{which}（例如：{example}）{advice}",
    "; measure again on a quiet machine": "；请在安静的机器上重测",
    "measure again on a quiet machine": "请在安静的机器上重测",
    "the outputs of {label} at {load} were not compared with the baseline's: {why}": (
        "{label} 在 {load} 的输出没有与基线比较：{why}"
    ),
    "{label} (trial {n:d}) at {what}": "{label}（试验 {n}）：{what}",
    "{label} (trial {n:d})": "{label}（试验 {n}）",
    "{label} (fresh lives) at {load}": "{label}（全新启动），{load}",
    "{label} (fresh lives)": "{label}（全新启动）",
    "the baseline on {device} drifted at {load}: {how}": "{device} 上的基线在 {load} 有漂移：{how}",
    "the baseline on {device} was measured once: its drift over the sweep is unknown": (
        "{device} 上的基线只测了一次：测量过程中的漂移不知道"
    ),
    "{where}: repeat {n:d} left out: {why}": "{where}：第 {n} 次重复不计：{why}",
    "repeat {n:d} (of {first:d}-{last:d})": "第 {n} 次重复（{first}-{last}）",
    "{where}: {n:d} of {of:d} requests failed": "{where}：{of} 个请求有 {n} 个失败",
    "{where}: {n:d} preemptions, the KV cache is too small for this load": (
        "{where}：{n} 次抢占，KV cache 对这样的负载太小"
    ),
    "{where}: {n:d} of {of:d} draft tokens were accepted, more than a model other than the target can be right": (
        "{where}：{of} 个提议的 token 接受了 {n} 个，目标模型以外的模型不可能猜得这么准"
    ),
    "{where}: acceptance does not fall with the position ({first:w} at the first, {share:w} at position {n:d}, "
    "{d:d} drafts), as it does where each token of a draft rests on those before it": (
        "{where}：接受率不随位置下降（第一个 {first}，位置 {n} 为 {share}，{d} 次提议），而提议的每个 token 依赖"
        "前面的 token 时应当下降"
    ),
    "{where}: not one draft in {n:d} output tokens": "{where}：{n} 个输出 token 里一次提议也没有",
    # --- devices and counters
    "the GPU slowed down: {why}": "GPU 降速：{why}",
    "the hypervisor took {x:w} of the CPU time": "虚拟机管理程序占用了 {x} 的 CPU 时间",
    "other processes used {x:w} of the CPU time": "其他进程占用了 {x} 的 CPU 时间",
    "the GPU's clock fell to {a:w} MHz, usually {b:w} MHz": "GPU 频率降到 {a} MHz，平时是 {b} MHz",
    "{name} went backwards by {n}": "{name} 倒退了 {n}",
    "prompt {id}: usage says {a:w} tokens, {b:w} came": "提示词 {id}：usage 说是 {a} 个 token，收到 {b} 个",
    "foreign traffic: requests were in the engine for {x:w} s after the last of ours was answered": (
        "外来流量：我们最后一个请求答完之后，引擎里还有请求运行了 {x} 秒"
    ),
    "foreign traffic: the engine finished {a:w} requests, {b:w} were ours": (
        "外来流量：引擎完成了 {a} 个请求，我们的有 {b} 个"
    ),
    "foreign traffic: the engine read {a:w} prompt tokens, {b:w} were ours": (
        "外来流量：引擎读了 {a} 个提示词 token，我们的有 {b} 个"
    ),
    "the engine counted {a:w} output tokens, usage says {b:w}": "引擎计了 {a} 个输出 token，usage 说是 {b} 个",
    "the engine counted {a:w} finished requests, {b:w} were answered": "引擎计了 {a} 个完成的请求，答完的有 {b} 个",
    "accepted tokens {a:w} > draft tokens {b:w}": "接受的 token {a} > 提议的 token {b}",
    "draft tokens {a:w} > K {k:w} x drafts {b:w}": "提议的 token {a} > K {k} × 提议次数 {b}",
    "accepted tokens by position sum to {a}, not {b}": "各位置接受的 token 合计 {a}，而不是 {b}",
    "accepted tokens by position rise: drafts {a}, {b}": "各位置接受的 token 反而增多：提议 {a}，{b}",
    "the engine counted no drafts": "引擎没有计到提议",
    # --- traffic
    "traffic: {share} of the busy time is at a concurrency above {n:d} (up to {most:d}), which no load point "
    "measures: it counts nowhere": ("流量：{share} 的忙碌时间并发超过 {n}（最高 {most}），没有负载点测到，因此不计"),
    "traffic: {share} of the busy time is at a concurrency below {n:d} and counts as {as_:d}": (
        "流量：{share} 的忙碌时间并发低于 {n}，按 {as_} 计"
    ),
    # --- not measured, tried again, begun with the last sweep
    "{draft}: K = {ks} not measured: {why}": "{draft}：K = {ks} 没有测量：{why}",
    "predicted only roughly": "只能粗略推算",
    "no gain was expected of an engine start": "预计再启动一次引擎不会有收益",
    "the best of the last sweep still is": "上一次测量最好的仍然最好",
    "the engine failed without speculation already": "引擎不用投机解码时就已经失败",
    "K = {k:d} ran out of memory": "K = {k} 时内存已经不够",
    "left open, {why}": "没有测完，{why}",
    "predicted {x:w} or less": "推算为 {x} 或更少",
    "or less": "或更少",
    "the whole sweep": "整次测量",
    "{labels}: {note}; compared with a baseline of the same arguments": "{labels}：{note}；与同样参数的基线相比",
    "failed again: {why:s}": "再次失败：{why}",
    "{label} (`{where}`): {note}: measured": "{label}（`{where}`）：{note}：已测",
    "measured": "已测",
    "Each is compared with its own baseline, started with the same arguments.": (
        "每一个都与用同样参数启动的自己的基线相比。"
    ),
    "The search started from the last sweep, {name} ({when}): {what}.": (
        "搜索从上一次测量 {name}（{when}）开始：{what}。"
    ),
    "It holds: {why}. So {what} not measured; --fresh-search searches all.": (
        "上一次的答案仍然成立：{why}。所以 {what} 没有测量；--fresh-search 会搜索全部。"
    ),
    "The search started {how}, that of the last sweep {name}.": "搜索从上一次测量 {name} 的结果开始：{how}。",
    "The last sweep, {name} ({when}), gives no start: {why}.": "上一次测量 {name}（{when}）不能作为起点：{why}。",
    "The whole search followed: {why}.": "随后进行了完整的搜索：{why}。",
    "was": "是",
    "were": "是",
    "was were": "是",
    "the last sweep had another objective": "上一次测量以别的为准",
    "the last sweep could not measure {what}": "上一次测量没能测 {what}",
    "the last sweep could not measure {what} and others": "上一次测量没能测 {what} 等",
    "and others": "等",
    "the content of {what} is another than in the last sweep": "{what} 的内容与上一次测量不同",
    "it has other load points": "它的负载点不同",
    "its answer was inconclusive": "它的答案是无法判断",
    "its best is not among the candidates": "它最好的配置不在候选之中",
    "{n:d} drafts are heads of their target, no models that could be served alone": (
        "{n} 个草稿是目标模型的 head，不是能单独运行的模型"
    ),
    # --- advice of an artifact
    "vLLM has no switch that speculates up to a concurrency. Route so that an engine with {what} runs at most {n} at o"
    "nce, and send what is above to engines with {other}.": (
        "vLLM 没有“并发到多少为止才投机”的开关。请用路由保证使用 {what} 的引擎最多同时运行 {n}，其余的交给使用 "
        "{other} 的引擎。"
    ),
    "vLLM has no switch that speculates up to a concurrency. Route so that an engine with {what} runs at most {n} at o"
    "nce, and send what is above to engines with {other}. It was measured to be slower at {m}.": (
        "vLLM 没有“并发到多少为止才投机”的开关。请用路由保证使用 {what} 的引擎最多同时运行 {n}，其余的交给使用 "
        "{other} 的引擎。测得它在并发 {m} 时更慢。"
    ),
    "It was measured to be slower at {n}.": "测得它在并发 {n} 时更慢。",
    "{n:d} requests at once": "同时 {n} 个请求",
    "Where nothing else limits the load, max-num-seqs: {n:d} does: further requests then wait in the engine's "
    "queue, and their time to first token grows. No file here sets it.": (
        "如果没有别的东西限制负载，max-num-seqs: {n} 可以：多出来的请求会在引擎的队列里等，首 token 延迟随之变长"
        "。这里没有文件设置它。"
    ),
}
