"""What is said of a K schedule, in Chinese."""

OF_SCHEDULES = {
    "the surface asks for {what}": "加速图要求的是 {what}",
    "no other K is clearly faster than K = {k:d} by {x:w} or more at any measured concurrency ({why})": (
        "在测过的并发上，没有别的 K 明显比 K = {k} 快 {x} 或更多（{why}）"
    ),
    "K = {k:d} at {unit:o}{a:d} to {b:d}": "批大小 {a} 到 {b} 用 K = {k}",
    "batch sizes": "批大小",
    "no draft is recommended, so there is no K that a schedule could vary": "没有推荐草稿模型，所以没有可以切换的 K",
    "{label} has a K schedule of its own already": "{label} 已经有自己的 K 调度表",
    "one concurrency was measured, and a schedule varies K with it": "只测了一个并发，而调度表是随并发切换 K 的",
    "at concurrency {n:d} K = {a:d} is {x} faster than K = {b:d}": "并发 {n} 时 K = {a} 比 K = {b} 快 {x}",
    "K = {k:d} was not measured there": "K = {k} 在那里没有测量",
    "{label}: the engine drafted {x:w} tokens a step, and with the batches that were seen the schedule (K = {k}) "
    "allows for {a:w} to {b:w}": (
        "{label}：引擎每步提议 {x} 个 token，而按实际批次，调度表（K = {k}）允许 {a} 到 {b} 个"
    ),
    "the recommended K is not settled yet: its fresh lives are not complete": "推荐的 K 还没有确定：它的全新启动还不齐",
    "as deployed it runs at {x} of the static K where its K is another one ({n}), and is slower at no load point "
    "than the static K or no speculation": (
        "照部署的方式，在 K 不同之处速度是固定 K 的 {x}（{n}），而且没有哪个负载点比固定 K 或不用投机解码慢"
    ),
    "more engine lives could tell (`lives:` in the space's protocol)": (
        "更多次引擎启动可以判断（空间的 protocol 里的 `lives:`）"
    ),
    "no figure": "没有数字",
    ", no interval": "，没有区间",
    "{n:d} of the lives of {label} failed: {why:s}": "{label} 的启动有 {n} 次失败：{why}",
    "{n:d} of {of:d} rounds of its lives were measured": "它的 {of} 轮启动测了 {n} 轮",
    "it cannot be deployed: {why}": "不能部署：{why}",
    "where its K is another one it runs at {x} of the static K: not worth a schedule": (
        "在 K 不同之处速度是固定 K 的 {x}：不值得用调度表"
    ),
    "that it is faster where its K is another one is not proven ({x}); {how}": (
        "没有证实它在 K 不同之处更快（{x}）；{how}"
    ),
    "as deployed it is slower than {what} at {load} ({x}): it is not exported": (
        "照部署的方式，它在 {load} 比{what}慢（{x}）：不导出"
    ),
    "that it is not {x:w} or more slower than {what} at {load} is not proven ({y}); {how}": (
        "没有证实它在 {load} 不会比{what}慢 {x} 或更多（{y}）；{how}"
    ),
    "that it is not {x:w} or more slower than {what} at {load}": "它在 {load} 不会比{what}慢 {x} 或更多",
    "{what} is not proven ({y}); {how}": "没有证实{what}（{y}）；{how}",
    "it was not measured": "没有测量",
    "the static K": "固定 K",
}
