"""Diagnoses of what a step costs, of the traffic and of vocabularies, in Chinese."""

OF_STEP_COSTS = {
    # --- what a step costs
    "a draft with fewer layers, or a head (EAGLE, MTP); layers cost more than width.": (
        "换层数更少的草稿模型，或用预测头（EAGLE、MTP）；层数比宽度更费时间。"
    ),
    "{a} with, {b} without": "使用时 {a}，不用时 {b}",
    "{where}: {a} with, {b} without ({n})": "{where}：使用时 {a}，不用时 {b}（{n}）",
    "GPU busy with and without it, {what}": "使用与不用它时 GPU 的占用，{what}",
    "of a step of {a:w} plain ones {b:w} grow with K and {c:w} are fixed ({how})": (
        "一步相当于 {a} 个普通步，其中 {b} 个随 K 增长，{c} 个是固定的（{how}）"
    ),
    "of a step of {a:w} plain ones {b:w} grow with K and {c:w} are fixed": (
        "一步相当于 {a} 个普通步，其中 {b} 个随 K 增长，{c} 个是固定的"
    ),
    "{what} (line through K = {ks:i}, {where})": "{what}（过 K = {ks} 的直线，{where}）",
    "line through K = {ks:i}, {where}": "过 K = {ks} 的直线，{where}",
    "Take a draft that guesses better or has fewer layers: a larger K spreads this over tokens that are rejected.": (
        "换猜得更准或层数更少的草稿模型：更大的 K 只会把它摊到被拒绝的 token 上。"
    ),
    "What is fixed spreads over more tokens: try K = {k:d}, as long as acceptance holds.": (
        "固定的部分可以摊到更多 token 上：只要接受率不降，试试 K = {k}。"
    ),
    "Measure K = {k:d} too: if a step hardly grows, a larger K pays it off; else take fewer layers.": (
        "也测一下 K = {k}：如果一步几乎不变长，更大的 K 能抵回来；否则换层数更少的。"
    ),
    "A draft with fewer layers launches less; measure K again in fresh lives to see whether a larger one pays.": (
        "层数更少的草稿模型启动的 kernel 更少；用全新的启动再测 K，看更大的是否划算。"
    ),
    "Each proposed token launches every layer of the draft: take one with fewer layers.": (
        "每提议一个 token，草稿模型的每一层都要启动一遍：换层数更少的。"
    ),
    "{draft} is less than {x:w} faster than its target: drafting eats what its tokens bring.": (
        "{draft} 比目标模型快不到 {x}：提议的时间吃掉了它带来的收益。"
    ),
    "beside n-gram's step of the same K each token adds {x}": "与同样 K 的 n-gram 的一步相比，每个 token 多 {x}",
    "a step of K = {k:d} takes {x}": "K = {k} 的一步要 {x}",
    "{draft} is probably less than {x:w} faster than its target. Longer verification or the engine's own cost "
    "would look alike.": ("{draft} 很可能比目标模型快不到 {x}。更长的验证或引擎自己的开销看起来也会一样。"),
    "tuner diagnose MODEL times it alone (--drafts-alone). If it is slow: {what:s}": (
        "tuner diagnose MODEL 可以单独给它计时（--drafts-alone）。如果慢：{what}"
    ),
    "alone it takes {a} a token and the target {b}, {x} ({where}, {n})": (
        "单独运行时它每个 token 要 {a}，目标模型要 {b}，{x}（{where}，{n}）"
    ),
    "{what}; a draft {x:w} faster adds {y:w} a token ({n}, {where})": (
        "{what}；快 {x} 的草稿模型每个 token 多 {y}（{n}，{where}）"
    ),
    "With {label} the device waits for the engine: launching and scheduling cost time, not computing.": (
        "使用 {label} 时设备在等引擎：费时间的是启动 kernel 和调度，而不是计算。"
    ),
    # --- traffic
    "{label} makes tokens {a} as fast and whole answers {b}": "{label} 使 token 的速度变为 {a}，完整回答变为 {b}",
    "without speculation {a} of {b} pass before the first token, {share} ({where}, {n}); were decoding free, an "
    "answer would be {x:w} as fast": (
        "不用投机解码时，{b} 里有 {a} 花在首个 token 之前，占 {share}（{where}，{n}）；即使解码不花时间，回答也只"
        "能快到 {x}"
    ),
    "without speculation {a} of {b} pass before the first token, {share} ({more}); were decoding free, an answer "
    "would be {x:w} as fast": (
        "不用投机解码时，{b} 里有 {a} 花在首个 token 之前，占 {share}（{more}）；即使解码不花时间，回答也只能快到 {x}"
    ),
    "{label} runs at {x} of no speculation at concurrency {a:d} and at {y} at {b:d} ({n}), with {p} and {q} accepted": (
        "{label} 的速度在并发 {a} 时是不用投机解码时的 {x}，在 {b} 时是 {y}（{n}），接受率为 {p} 和 {q}"
    ),
    "; first measure {label} in fresh lives, which may pay there": "；先用全新的启动测 {label}，它在那里可能划算",
    "; a smaller K costs less there": "；那里更小的 K 代价更低",
    "a step takes {a} plain steps at {b:d} and {c} at {d:d}: checking tokens is no longer nearly free": (
        "一步在并发 {b} 时相当于 {a} 个普通步，在 {d} 时为 {c} 个：多验证 token 不再几乎不花时间"
    ),
    "against it: {label}, which checks more tokens, was measured at {x} there": (
        "反证：{label} 验证更多 token，在那里测得 {x}"
    ),
    "Above concurrency {n:d} {draft} stops paying: the device has enough to do without drafts.": (
        "并发超过 {n} 后 {draft} 不再划算：没有投机解码，设备也已经够忙。"
    ),
    "Above concurrency {n:d} {draft} stops paying: probably the device has enough to do without drafts.": (
        "并发超过 {n} 后 {draft} 不再划算：很可能没有投机解码，设备也已经够忙。"
    ),
    "Above concurrency {n:d} {draft} stops paying: {p:o}the device has enough to do without drafts.": (
        "并发超过 {n} 后 {draft} 不再划算：没有投机解码，设备也已经够忙。"
    ),
    "Keep an engine that speculates at {n:d} requests or fewer and start serve.baseline.yaml above{more:o}.": (
        "使用投机解码的引擎保持在 {n} 个请求以内，再多就启动 serve.baseline.yaml{more}。"
    ),
    "Answers are too short for speculation to matter: waiting for the first token is most of their time.": (
        "回答太短，投机解码起不了多少作用：大部分时间在等首个 token。"
    ),
    "Judge by objective.metric: e2e in the search space; prefix caching or shorter prompts help more here.": (
        "在搜索空间里按 objective.metric: e2e 评判；这里前缀缓存或更短的提示词更有用。"
    ),
    "The target is small for this device: most of its steps is not reading weights, which drafts would save.": (
        "目标模型对这个设备来说太小：一步的大部分时间不在读权重，而草稿模型能省的正是读权重。"
    ),
    "reading the weights takes {a} ({how}), {share} of a plain step at concurrency 1 ({n})": (
        "读权重要 {a}（{how}），占并发 1 时普通一步的 {share}（{n}）"
    ),
    "Measure without enforce_eager first: CUDA graphs save those launches.": (
        "先去掉 enforce_eager 再测：CUDA graph 能省下这些启动。"
    ),
    "Do not speculate for this target on this device; n-gram, which launches nothing, may still pay.": (
        "在这个设备上不要为这个目标模型使用投机解码；n-gram 不启动任何 kernel，也许仍然划算。"
    ),
    # --- vocabulary
    "What {draft} proposes is accepted next to never, at any position: {why}.": (
        "{draft} 提议的在任何位置都几乎不被接受：{why}。"
    ),
    "a head of another target, or a broken one": "它是为别的目标模型训练的预测头，或者已损坏",
    "its vocabulary or tokenizer is another one": "它的词表或 tokenizer 不同",
    "at most {share} of its first tokens are accepted ({where}, {n}, K = {k:d})": (
        "它的首个 token 最多 {share} 被接受（{where}，{n}，K = {k}）"
    ),
    "at most {share} of its first tokens are accepted ({more}, K = {k:d})": (
        "它的首个 token 最多 {share} 被接受（{more}，K = {k}）"
    ),
    "Take a head that was trained for exactly this target.": "换专门为这个目标模型训练的预测头。",
    "tuner preflight compares both token maps; take a draft of the target's own family.": (
        "tuner preflight 会比较两者的 token；请换与目标模型同一系列的草稿模型。"
    ),
    "before the start, of {what}: {text:s}": "启动之前，关于 {what}：{text}",
}
