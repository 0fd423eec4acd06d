"""What models' files tell of memory before an engine starts, in Chinese."""

_WAYS = {
    "max_model_len {n:d} or less fits": "max_model_len 不超过 {n} 就放得下",
    "max_num_seqs {n:d} or less fits": "max_num_seqs 不超过 {n} 就放得下",
    "K {n:d} or less fits": "K 不超过 {n} 就放得下",
    "gpu_memory_utilization {n:d} is enough": "gpu_memory_utilization 设为 {n} 就够",
    "a KV cache of {n:d} GiB or more fits": "KV cache 不少于 {n} GiB 就放得下",
    "a KV cache of {n:d} GiB or less fits": "KV cache 不超过 {n} GiB 就放得下",
}
OF_MEMORY = {
    "{label} does not fit into the {n:d} GiB that it may use of {device}: {reasons:s}": (
        "{label} 放不进它在 {device} 上可用的 {n} GiB：{reasons}"
    ),
    "{label} is tight in the {n:d} GiB that it may use of {device}: {reasons:s}": (
        "{label} 在它可用的 {n} GiB（{device}）里很紧：{reasons}"
    ),
    "does not fit": "放不下",
    "the weights take {a} of {b}": "权重要占 {b} 里的 {a}",
    "weights, activations and the rest {take}": "权重、激活和其余部分{take}",
    "weights, activations and the rest with a KV cache of {n} {take}": (
        "权重、激活、其余部分加上 {n} 的 KV cache {take}"
    ),
    "take {a} of {b}": "要占 {b} 里的 {a}",
    "one request of max_model_len {n:d} needs {a} of KV cache, {b} is left": (
        "一个长度为 max_model_len {n} 的请求要 {a} 的 KV cache，只剩 {b}"
    ),
    "only {a} are spare, and {b} of the plan are estimates": "只有 {a} 余量，而其中 {b} 是估计的",
    "{n:d} requests of {len:d} or more tokens need {a:d} tokens of KV cache and {b:d} are left: requests will wait or "
    "be preempted": "{n} 个不少于 {len} 个 token 的请求要 {a} 个 token 的 KV cache，只剩 {b} 个：请求会等待或被抢占",
    "verification needs {a} of logits under load, {b} are free for them": (
        "负载下验证要 {a} 放 logits，空闲的只有 {b}"
    ),
    **_WAYS,
    **{f"or {way}": f"或 {told}" for way, told in _WAYS.items()},
    "{ways}, the other settings as they are.": "{ways}，其他设置不变。",
    "Use more memory, or a smaller draft or target.": "用更多内存，或换更小的草稿模型或目标模型。",
    "Use more or larger GPUs, a quantised target, or a smaller draft or target.": (
        "用更多或更大的 GPU，量化目标模型，或换更小的草稿模型或目标模型。"
    ),
    "its memory cannot be planned: {why}": "它的内存无法估算：{why}",
    "{directory} has no weights to tell their size": "{directory} 里没有能看出大小的权重",
    "its layers differ from one another (block_configs)": "它的各层不一样（block_configs）",
    "it has no num_attention_heads or no hidden_size": "它没有 num_attention_heads 或 hidden_size",
    "it has no num_hidden_layers": "它没有 num_hidden_layers",
    "{file} has no safetensors header": "{file} 没有 safetensors 文件头",
    "{directory} has a malformed safetensors header or index: {what}": (
        "{directory} 的 safetensors 文件头或索引损坏：{what}"
    ),
}
