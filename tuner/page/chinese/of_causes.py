"""Diagnoses with their evidence and next steps, in Chinese."""

OF_CAUSES = {
    "{what:s} (clear)": "{what}（明确）",
    "{what:s} (likely)": "{what}（很可能）",
    "{what:s} (possible)": "{what}（有可能）",
    "clear": "明确",
    "likely": "很可能",
    "possible": "有可能",
    "{n:d} more in the report, with evidence and next steps": "报告里还有 {n} 个，附证据和下一步",
    "next: {what:s}": "下一步：{what}",
    "**{what:s}** ({sure:w}; `{code}`: {subject})": "**{what}**（{sure}；`{code}`：{subject}）",
    # --- acceptance
    "these answers repeat little of their prompts and themselves.": "这些回答很少重复提示词或它们自己的内容。",
    "{draft} finds too little to copy: {why}": "{draft} 找不到多少可以照抄的内容：{why}",
    "{draft} copies what does not follow: {why}": "{draft} 照抄的内容接不上：{why}",
    "at best {a} of the steps had a draft, and {b} of what was copied was accepted ({where}, {n})": (
        "最好时 {a} 的步有提议，照抄的内容有 {b} 被接受（{where}，{n}）"
    ),
    "n-gram suits summaries, extraction and code edits: measure such traffic, or use a draft model.": (
        "n-gram 适合摘要、信息抽取和代码修改：请测这样的流量，或改用草稿模型。"
    ),
    "Less than half of what {draft} proposes is accepted. Practice says another draft or a smaller K; measured, "
    "it pays as it is.": ("{draft} 提议的不到一半被接受。按经验应换草稿模型或减小 K；实测却这样就划算。"),
    "{share} is accepted at {load} ({n})": "{load} 时接受 {share}（{n}）",
    "{share} is accepted at {load} ({more}, {n})": "{load} 时接受 {share}（{more}，{n}）",
    "it runs at {x} of no speculation": "它的速度是不用投机解码时的 {x}",
    "; K = {k:d} was measured too": "；也测了 K = {k}",
    "K = {k:d} was measured too": "也测了 K = {k}",
    "; K = {ks:l} were measured too": "；也测了 K = {ks}",
    "K = {ks:l} were measured too": "也测了 K = {ks}",
    "Keep it. A draft that guesses better would gain more.": "保留它。猜得更准的草稿模型收益会更大。",
    "Keep it. Try K below {k:d}; a draft that guesses better would gain more.": (
        "保留它。试试小于 {k} 的 K；猜得更准的草稿模型收益会更大。"
    ),
    "{draft} guesses too little right: on average less than half of its first tokens are accepted, and it was "
    "measured slower than no speculation.": (
        "{draft} 猜对的太少：前几个 token 平均不到一半被接受，实测比不用投机解码慢。"
    ),
    "{draft} guesses too little right at temperature {t:d}: on average less than half of its first tokens are "
    "accepted, and it was measured slower than no speculation.": (
        "温度 {t} 时 {draft} 猜对的太少：前几个 token 平均不到一半被接受，实测比不用投机解码慢。"
    ),
    "at best {share} of its first {n:d} tokens are accepted on average ({where}, {count})": (
        "最好时它的前 {n} 个 token 平均有 {share} 被接受（{where}，{count}）"
    ),
    "Another draft: a larger one of the family, a distilled one, or an EAGLE or MTP head of this target (tuner "
    "breakeven RUN says what it has to reach).": (
        "换草稿模型：同一系列里更大的、蒸馏过的，或为这个目标模型训练的 EAGLE 或 MTP 预测头（tuner breakeven RUN 会"
        "说明它要达到多少）。"
    ),
    "Cheaper to try: K = {a:d} instead of {b:d}.": "更省事的尝试：用 K = {a} 代替 {b}。",
    "With draft_sample_method: probabilistic the draft samples as the target does.": (
        "设置 draft_sample_method: probabilistic 后，草稿模型会像目标模型那样采样。"
    ),
    "{label} runs at {x} of no speculation at {where}, its best ({n})": (
        "{label} 在 {where} 的速度是不用投机解码时的 {x}，这是它最好的（{n}）"
    ),
    "{label} runs at {x} of no speculation over its load points, its best ({n})": (
        "{label} 在它的各个负载点上总的速度是不用投机解码时的 {x}，这是它最好的（{n}）"
    ),
    "at {where} a step takes as long as {a:w} plain ones and gives {b:w} tokens; to pay, it has to give {c:w}": (
        "{where} 时一步相当于 {a} 个普通步，得到 {b} 个 token；要划算，必须得到 {c} 个"
    ),
    "at {where} a step takes as long as {a:w} plain ones and gives {b:w} tokens; to pay, it has to give {c:w}, with "
    "{share} of them accepted, each alike": (
        "{where} 时一步相当于 {a} 个普通步，得到 {b} 个 token；要划算，必须得到 {c} 个，也就是每个位置同样有 {share} "
        "被接受"
    ),
    "at {where} a step takes as long as {a:w} plain ones and gives {b:w} tokens": (
        "{where} 时一步相当于 {a} 个普通步，得到 {b} 个 token"
    ),
    "{what}; to pay, it has to give {c:w}{more:o}": "{what}；要划算，必须得到 {c} 个{more}",
    ", with {share} of them accepted, each alike": "，也就是每个位置同样有 {share} 被接受",
    ": more than K = {k:d} can give": "，K = {k} 达不到",
    "{what}: more than K = {k:d} can give": "{what}，K = {k} 达不到",
    "K = {k:d} is longer than what {draft} guesses right: a smaller K is faster.": (
        "K = {k} 超出了 {draft} 猜得对的长度：更小的 K 更快。"
    ),
    "accepted by position, per cent of all drafts: {shares} ({where}, {n})": (
        "各位置的接受率（占全部提议的百分比）：{shares}（{where}，{n}）"
    ),
    "K = {a:d} is {x:w} as fast as K = {b:d}{interval:o}, n = {n:d} prompts": (
        "K = {a} 的速度是 K = {b} 的 {x}{interval}，n = {n} 个提示词"
    ),
    "Keep K at {k:d} or near it, and leave K = {ks} out of the search space.": (
        "K 保持在 {k} 或附近，K = {ks} 不必放在搜索空间里。"
    ),
    "Leave K = {ks} out of the search space; K = {k:d} is not shown to pay either.": (
        "K = {ks} 不必放在搜索空间里；K = {k} 也没有显示划算。"
    ),
    # --- memory
    "With {names:l} too little memory is left for the KV cache: draft weights and draft cache take it.": (
        "使用 {names} 时留给 KV cache 的内存太少：被草稿模型的权重和缓存占去了。"
    ),
    "Raise gpu_memory_utilization, lower max_model_len, or take a smaller draft.": (
        "提高 gpu_memory_utilization，降低 max_model_len，或换更小的草稿模型。"
    ),
    "With {names:l} memory ran out under load: checking K + 1 tokens of each request needs room beside the KV cache.": (
        "使用 {names} 时在负载下内存不够：每个请求验证 K + 1 个 token，需要 KV cache 之外的空间。"
    ),
    "Lower K, max_num_seqs or max_num_batched_tokens, or gpu_memory_utilization, which leaves more outside the "
    "cache.": (
        "减小 K、max_num_seqs 或 max_num_batched_tokens，或降低 gpu_memory_utilization，给 KV cache 之外多留一些。"
    ),
    "{names:l} did not fit when the engine started.": "{names} 在引擎启动时就放不下。",
    "Take a smaller or quantised draft, or lower max_model_len or K; gpu_memory_utilization where something else "
    "uses the device.": (
        "换更小的或量化的草稿模型，或降低 max_model_len 或 K；有别的程序占用设备时降低 gpu_memory_utilization。"
    ),
    "its KV cache holds {a} tokens, {b} without the draft": "它的 KV cache 可容纳 {a} 个 token，不用草稿模型时 {b} 个",
    "{n:d} of {of:d} engine starts failed so": "{of} 次引擎启动里有 {n} 次这样失败",
    "With {names:l} requests lose their place in the KV cache and start again.": (
        "使用 {names} 时请求会丢掉在 KV cache 里的位置，从头再来。"
    ),
    "Raise gpu_memory_utilization, lower max_num_seqs, or take a smaller draft.": (
        "提高 gpu_memory_utilization，降低 max_num_seqs，或换更小的草稿模型。"
    ),
    "{n:d} preemptions at {load}": "{load} 时 {n} 次抢占",
    "{n:d} preemptions at {load}, none without speculation": "{load} 时 {n} 次抢占，不用投机解码时没有",
    ", none without speculation": "，不用投机解码时没有",
    # --- noise
    "To settle {effect}: {how}.": "要确认 {effect} 的差别：{how}。",
    "its repeats differ": "各次重复不一样",
    "engine lives differ": "各次引擎启动不一样",
    "prompts differ": "各个提示词不一样",
    "the baseline drifts": "基线在漂移",
    "protocol.max_repeats: {n:d} in the search space": "在搜索空间里设 protocol.max_repeats: {n}",
    "protocol.max_repeats: {n} in the search space": "在搜索空间里设 protocol.max_repeats: {n}",
    "protocol.max_lives: {n} in the search space": "在搜索空间里设 protocol.max_lives: {n}",
    "an eval set of {n} prompts": "用有 {n} 个提示词的评测集",
    "Measure again on a quiet machine; tuner noise MODEL tells what it can resolve.": (
        "在安静的机器上重测；tuner noise MODEL 会说明它能分辨多小的差别。"
    ),
    "Noise is larger than what {label} brings or costs: this sweep cannot tell.": (
        "噪声比 {label} 的收益或代价还大：这次测量判断不了。"
    ),
    "The times of {draft} differ from one engine life to the next by more than K makes: single lives do not rank "
    "its K.": ("{draft} 从一次启动到下一次的时间差别比 K 造成的还大：单次启动排不出 K 的好坏。"),
    "Let the finalists' fresh lives decide (protocol.lives: 4 or more); tuner noise MODEL says how many.": (
        "让决赛配置的全新启动来决定（protocol.lives: 4 或更多）；tuner noise MODEL 会说明需要几次。"
    ),
    "{x:w} of no speculation, 95 % {interval:w} ({n}, {lives}); no effect below {e:w} could be seen": (
        "速度是不用投机解码时的 {x}，95 % 区间 {interval}（{n}，{lives}）；看不出小于 {e} 的差别"
    ),
    "the width comes from repeats most: {why}": "区间的宽度主要来自各次重复：{why}",
    "the width comes from lives most: {why}": "区间的宽度主要来自各次引擎启动：{why}",
    "the width comes from {what} most: {why}": "区间的宽度主要来自{what}：{why}",
    "drift": "漂移",
    "at {where} a step of K = {a:d} takes {x} and one of K = {b:d} only {y}, though it does more ({n}, {lives})": (
        "{where} 时 K = {a} 的一步要 {x}，K = {b} 的一步做得更多却只要 {y}（{n}，{lives}）"
    ),
    "{x:w} plain steps": "{x} 个普通步",
    "{x:w} plain steps ({interval:w})": "{x} 个普通步（{interval}）",
    "plain steps": "个普通步",
    # --- outputs
    "{label} gives other answers than its target: a fault of the engine, the model or that life.": (
        "{label} 给出的回答与目标模型不同：是引擎、模型或那一次启动出了错。"
    ),
    "Do not deploy it. Measure it again in a fresh life (same command, new --out): if it differs again, report it"
    " to vLLM with both texts.": (
        "不要部署。用全新的启动再测一次（同一条命令，换一个 --out）：如果仍然不同，把两段文本报告给 vLLM。"
    ),
    "Some answers of {label} part from its target's at near-ties, which rounding decides.": (
        "{label} 的有些回答在两个 token 几乎同样可能的地方与目标模型不同，那由舍入决定。"
    ),
    "Some answers of {label} part from its target's, not clearly more often than its own: likely rounding.": (
        "{label} 的有些回答与目标模型不同，但不比它自己各次之间明显更多：很可能是舍入。"
    ),
    "Some answers of {label} part from its target's{how:o}": "{label} 的有些回答与目标模型不同{how}",
    "at near-ties, which rounding decides.": "，都在两个 token 几乎同样可能的地方，由舍入决定。",
    ", not clearly more often than its own: likely rounding.": "，但不比它自己各次之间明显更多：很可能是舍入。",
    "{what}; also at {loads:l}": "{what}；另外还有 {loads}",
    "; also at {loads:l}": "；另外还有 {loads}",
    "also at {loads:l}": "另外还有 {loads}",
    "one request at a time has no batch whose order could change the rounding": (
        "一次只有一个请求时，没有批次的次序能改变舍入"
    ),
    "Sampled answers of {label} differ from the target's by chance alone, as far as the test sees.": (
        "就检验所见，{label} 采样得到的回答与目标模型只有随机的差别。"
    ),
    "Nothing; more samples (--check-distribution N) would see smaller differences.": (
        "不需要做什么；更多采样（--check-distribution N）能看出更小的差别。"
    ),
    "Nothing: either token is the target's choice. Whoever needs equal bits serves one request at a time.": (
        "不需要做什么：哪个 token 都是目标模型的选择。需要逐位相同的，就一次只处理一个请求。"
    ),
    "protocol.losslessness: true fetches the probabilities that tell rounding from a fault.": (
        "protocol.losslessness: true 会取回概率，用来区分舍入和错误。"
    ),
    # --- set-up
    "the engine's log says so: see what the engine changed by itself in the report": (
        "引擎的日志这样说：见报告里“引擎自行改动的设置”"
    ),
    "kv_cache_dtype is {what}": "kv_cache_dtype 是 {what}",
    "of {label}'s {x} at {load} these settings alone are {a} and speculation alone is {b} ({n})": (
        "{label} 在 {load} 的 {x} 里，仅这些设置为 {a}，仅投机解码为 {b}（{n}）"
    ),
    "the target runs with quantization {what}": "目标模型以量化 {what} 运行",
    "speculation has {what}": "投机解码的设置有 {what}",
    "Several accelerators are measured at once: their causes cannot be told apart.": (
        "同时测了几种加速手段：分不清是哪一种的作用。"
    ),
    "Take them away one at a time and sweep again; low acceptance may come from quantised weights.": (
        "每次去掉一种再测；接受率低可能来自量化的权重。"
    ),
    "the target's name says {what}": "目标模型的名字里有 {what}",
    "the draft's name says {what}": "草稿模型的名字里有 {what}",
    "Speculation with {names:l} makes this engine switch to {what:l}: part of the effect may be theirs.": (
        "使用 {names} 的投机解码使这个引擎改用 {what}：部分效果可能来自这些改动。"
    ),
    "Speculation with {names:l} makes this engine switch to {what:l}, and that alone costs.": (
        "使用 {names} 的投机解码使这个引擎改用 {what}，仅此就有代价。"
    ),
    "Speculation with {names:l} makes this engine switch to {what:l}": "使用 {names} 的投机解码使这个引擎改用 {what}",
    ": part of the effect may be theirs.": "：部分效果可能来自这些改动。",
    ", and that alone costs.": "，仅此就有代价。",
    "the V1 model runner": "V1 model runner",
    "synchronous scheduling": "同步调度",
    "other CUDA graphs": "其他 CUDA graph",
    "fewer tokens scheduled per step": "每步调度更少的 token",
    "a shorter context": "更短的上下文",
    "Compare with an engine release that speculates without that change.": "与投机解码时没有这种改动的引擎版本比较。",
    "tuner sweep with --same-runner-baseline measures what they cost without a draft.": (
        "tuner sweep --same-runner-baseline 可以测出这些改动本身的代价。"
    ),
    "{what}; the speedup is of speculation on top of them": "{what}；加速比是在这些之上再用投机解码得到的",
}
