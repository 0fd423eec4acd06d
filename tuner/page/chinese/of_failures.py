"""Why an engine did not start or ended, and what to change, in Chinese. Words of the engine's log stay as they are."""

OF_FAILURES = {
    # --- memory of the device
    "The device's memory ran out {when}: {asked} were asked for, {free} of {total} were free.": (
        "{when}设备内存不够：要 {asked}，{total} 里只剩 {free}。"
    ),
    "The device's memory ran out while {n} drafted tokens a request were verified: {asked} were asked for, {free}"
    " of {total} were free.": ("在每个请求验证 {n} 个提议的 token 时设备内存不够：要 {asked}，{total} 里只剩 {free}。"),
    "The device's memory ran out {when}, with {n:d} requests at once.": "{when}设备内存不够，当时有 {n} 个请求。",
    "The device's memory ran out {when}.": "{when}设备内存不够。",
    "{what}, with {n:d} requests at once.": "{what}，当时有 {n} 个请求。",
    "Lower max_num_batched_tokens to {n:d}, or max_num_seqs; or use more GPUs (tensor_parallel_size).": (
        "把 max_num_batched_tokens 降到 {n}，或降低 max_num_seqs；或用更多 GPU（tensor_parallel_size）。"
    ),
    "Lower max_num_seqs to {n:d}.": "把 max_num_seqs 降到 {n}。",
    "Lower max_num_seqs to {n:d}, or gpu_memory_utilization.": (
        "把 max_num_seqs 降到 {n}，或降低 gpu_memory_utilization。"
    ),
    ", or gpu_memory_utilization": "，或降低 gpu_memory_utilization",
    "Lower num_speculative_tokens to {n:d}, or max_num_seqs.": (
        "把 num_speculative_tokens 降到 {n}，或降低 max_num_seqs。"
    ),
    "Lower gpu_memory_utilization to {x:w}; or {other}.": "把 gpu_memory_utilization 降到 {x}；或{other}。",
    "Lower gpu_memory_utilization; or {other}.": "降低 gpu_memory_utilization；或{other}。",
    "Lower gpu_memory_utilization to {x:w}, or end what else uses the memory.": (
        "把 gpu_memory_utilization 降到 {x}，或结束占用内存的其他程序。"
    ),
    "Raise gpu_memory_utilization to {x:w}, or use a smaller draft or more GPUs (tensor_parallel_size).": (
        "把 gpu_memory_utilization 提高到 {x}，或换更小的草稿模型，或用更多 GPU（tensor_parallel_size）。"
    ),
    "Use a smaller or quantised draft or target, or more GPUs (tensor_parallel_size).": (
        "换更小的或量化的草稿模型或目标模型，或用更多 GPU（tensor_parallel_size）。"
    ),
    "while CUDA graphs were captured": "在捕获 CUDA graph 时",
    "enforce_eager: true needs no graphs": "设 enforce_eager: true，就不需要 graph",
    "in the first pass at full batch size": "在第一次满批大小的前向时",
    "while the sampler was warmed up": "在预热采样器时",
    "while {n} drafted tokens a request were verified": "在每个请求验证 {n} 个提议的 token 时",
    "while tokens were sampled": "在采样 token 时",
    "while the weights were loaded": "在加载权重时",
    "while the engine started": "在引擎启动时",
    "while it started": "在启动时",
    "under load": "在负载下",
    "lower max_num_batched_tokens or max_num_seqs": "降低 max_num_batched_tokens 或 max_num_seqs",
    "lower max_num_seqs or K": "降低 max_num_seqs 或 K",
    "lower max_num_seqs": "降低 max_num_seqs",
    "The device's memory ran out while the weights were loaded.": "在加载权重时设备内存不够。",
    "Use more GPUs (tensor_parallel_size), a quantised target or a smaller draft; see that the device is free.": (
        "用更多 GPU（tensor_parallel_size）、量化的目标模型或更小的草稿模型；并确认设备空闲。"
    ),
    "The device's memory ran out while CUDA graphs were captured.": "在捕获 CUDA graph 时设备内存不够。",
    "Lower gpu_memory_utilization: graphs live outside of it. Or set enforce_eager: true.": (
        "降低 gpu_memory_utilization：graph 在它之外。或设 enforce_eager: true。"
    ),
    "The device's memory ran out while the sampler was warmed up.": "在预热采样器时设备内存不够。",
    "Lower max_num_seqs or gpu_memory_utilization.": "降低 max_num_seqs 或 gpu_memory_utilization。",
    "The device's memory ran out in the first pass at full batch size.": "在第一次满批大小的前向时设备内存不够。",
    "Lower max_num_batched_tokens or max_num_seqs.": "降低 max_num_batched_tokens 或 max_num_seqs。",
    "The device's memory ran out under load, in sampling or verification.": "在负载下采样或验证时设备内存不够。",
    "Lower gpu_memory_utilization: logits live outside of it. Or lower max_num_seqs or K.": (
        "降低 gpu_memory_utilization：logits 在它之外。或降低 max_num_seqs 或 K。"
    ),
    "The device's memory ran out under load.": "在负载下设备内存不够。",
    "Lower gpu_memory_utilization, max_num_batched_tokens or max_num_seqs.": (
        "降低 gpu_memory_utilization、max_num_batched_tokens 或 max_num_seqs。"
    ),
    "The device's memory ran out while the engine started.": "在引擎启动时设备内存不够。",
    "See with nvidia-smi that nothing else is on the device; else use more GPUs, or a smaller draft.": (
        "用 nvidia-smi 确认设备上没有别的程序；否则用更多 GPU，或换更小的草稿模型。"
    ),
    # --- memory for the cache
    "{a:w} of {b:w} GiB are free, and gpu_memory_utilization {x:w} asks for {c:w} GiB of {where}.": (
        "{b} GiB 里只剩 {a} GiB，而 gpu_memory_utilization {x} 要{where}的 {c} GiB。"
    ),
    "{a:w} of {b:w} GiB of the host are free, and the KV cache is to have {c:w} GiB.": (
        "主机的 {b} GiB 里只剩 {a} GiB，而 KV cache 要 {c} GiB。"
    ),
    "Weights and activations leave no memory for the KV cache{where:o}{left:o}.": (
        "权重和激活占满了内存，没有给 KV cache 留下{where}{left}。"
    ),
    "Weights and activations leave no memory for the KV cache.": "权重和激活占满了内存，没有给 KV cache 留下。",
    "The share asked for, {a:w} of {b:w} GiB of the host, leaves {c:w} GiB for the KV cache; {d:w} GiB are free.": (
        "要求的份额是主机 {b} GiB 里的 {a}，只给 KV cache 留下 {c} GiB；空闲的有 {d} GiB。"
    ),
    "The KV cache is smaller than one request of max_model_len {n:w}{needed:o}{room:o}.": (
        "KV cache 放不下一个长度为 max_model_len {n} 的请求{needed}{room}。"
    ),
    "The KV cache is smaller than one request of max_model_len.": "KV cache 放不下一个长度为 max_model_len 的请求。",
    "Lower max_model_len to {n:d}, or raise gpu_memory_utilization if more of the memory is free.": (
        "把 max_model_len 降到 {n}；如果还有空闲内存，也可以提高 gpu_memory_utilization。"
    ),
    "Lower max_model_len, or raise gpu_memory_utilization.": "降低 max_model_len，或提高 gpu_memory_utilization。",
    "Raise gpu_memory_utilization, or use a smaller draft or more GPUs.": (
        "提高 gpu_memory_utilization，或换更小的草稿模型，或用更多 GPU。"
    ),
    "{a:w} GiB of the device were free when the engine began to measure what it needs, {b:w} at its end.": (
        "引擎开始测量自己需要多少时设备空闲 {a} GiB，结束时 {b} GiB。"
    ),
    ": {x:w} GiB are left": "：剩 {x} GiB",
    "with gpu_memory_utilization {x:w}": "（gpu_memory_utilization {x}）",
    ": {a:w} GiB are needed, {b:w} GiB are there": "：需要 {a} GiB，只有 {b} GiB",
    ", room for {n:d} tokens": "，可容纳 {n} 个 token",
    "The share of memory asked for is not free.": "要求的那部分内存不是空闲的。",
    "Lower gpu_memory_utilization, or end what else uses the memory.": (
        "降低 gpu_memory_utilization，或结束占用内存的其他程序。"
    ),
    "Something else gave back memory of the device while the engine measured what it needs.": (
        "引擎测量自己需要多少时，别的程序归还了设备内存。"
    ),
    "Let nothing else use the device, then run with --retry-failed.": (
        "不要让别的程序用这个设备，然后加 --retry-failed 再运行。"
    ),
    "The memory that the KV cache was given by hand is not free.": "手工分给 KV cache 的内存不是空闲的。",
    "Lower VLLM_CPU_KVCACHE_SPACE or kv_cache_memory_bytes, or end what else uses the memory.": (
        "降低 VLLM_CPU_KVCACHE_SPACE 或 kv_cache_memory_bytes，或结束占用内存的其他程序。"
    ),
    "End what else uses the memory, or use another device.": "结束占用内存的其他程序，或换一个设备。",
    "the device": "设备",
    "the host": "主机",
    # --- the host and the machine
    "Give the host more memory, use fewer workers (--max-workers) or smaller models; with the CPU build lower "
    "VLLM_CPU_KVCACHE_SPACE and gpu_memory_utilization. dmesg shows what the kernel ended.": (
        "给主机更多内存，减少 worker（--max-workers），或用更小的模型；CPU 版本请降低 VLLM_CPU_KVCACHE_SPACE 和 "
        "gpu_memory_utilization。dmesg 会显示内核结束了什么。"
    ),
    "The engine's supervisor was ended by someone": "引擎的监管进程被结束了",
    "The engine's processes do not go away although they were killed": "引擎的进程被杀掉之后仍不退出",
    "could not be sent:": "发送失败：",
    "Another process has the port.": "端口被别的进程占用。",
    "Run with --retry-failed: each try gets a new port. ss -ltnp shows who listens.": (
        "加 --retry-failed 再运行：每次会换新端口。ss -ltnp 会显示谁在监听。"
    ),
    "at {a:w} of {b:w} GB": "（{b} GB 里用了 {a}）",
    "Ray's memory monitor ended the engine{where:o}: the host's memory ran out, not the GPU's.": (
        "Ray 的内存监控结束了引擎{where}：不够的是主机内存，不是 GPU 内存。"
    ),
    "Ray's memory monitor ended the engine: the host's memory ran out.": "Ray 的内存监控结束了引擎：主机内存不够。",
    "The system ended a process of the engine: the host's memory ran out, not the GPU's.": (
        "系统结束了引擎的一个进程：不够的是主机内存，不是 GPU 内存。"
    ),
    "The engine could not be started: {why}.": "引擎无法启动：{why}。",
    "The engine could not be started.": "引擎无法启动。",
    "GPU memory is still in use although the engine is gone: {what}.": "引擎已经退出，GPU 内存却仍被占用：{what}。",
    "GPU memory is still in use although the engine is gone.": "引擎已经退出，GPU 内存却仍被占用。",
    "The engine's own code failed on the device: {why}.": "引擎自己的代码在设备上出错：{why}。",
    "The engine's own code failed on the device.": "引擎自己的代码在设备上出错。",
    "The engine refuses a prompt: its context is {n} tokens.": "引擎拒绝了一个提示词：它的上下文是 {n} 个 token。",
    "The engine refuses the requests: {why}.": "引擎拒绝了请求：{why}。",
    "with HTTP {n}": "（HTTP {n}）",
    "The engine answers and declines{how:o}.": "引擎作出应答但拒绝处理{how}。",
    "The engine answers and declines.": "引擎作出应答但拒绝处理。",
    "The engine's answers cannot be used: {why}.": "引擎的应答不能用：{why}。",
    "The engine's answers cannot be used.": "引擎的应答不能用。",
    "The system killed the engine {when} (SIGKILL), mostly because the host's memory ran out.": (
        "系统{when}杀掉了引擎（SIGKILL），多半是主机内存不够。"
    ),
    "The system killed the engine (SIGKILL).": "系统杀掉了引擎（SIGKILL）。",
    "The engine was ended by {what}.": "引擎被 {what} 结束。",
    "The engine was ended by a signal.": "引擎被信号结束。",
    "with exit code {n}": "退出码 {n}",
    ", and its log does not say why": "，日志没有说明原因",
    "The engine ended {when} with exit code {n:d}, and its log does not say why.": (
        "引擎{when}退出，退出码 {n}，日志没有说明原因。"
    ),
    "The engine ended {when} with exit code {n:d}.": "引擎{when}退出，退出码 {n}。",
    "The engine ended {when}{code:o}{why:o}.": "引擎{when}退出{code}{why}。",
    "See that the interpreter of --engine can be executed on that machine.": (
        "确认 --engine 的解释器能在那台机器上执行。"
    ),
    "Somebody ended the engine's supervisor, and the engine went with it.": "引擎的监管进程被结束，引擎也随之退出。",
    "Run with --retry-failed.": "加 --retry-failed 再运行。",
    "The engine's processes do not go away although they were killed.": "引擎的进程被杀掉之后仍不退出。",
    "They are probably stuck in the GPU's driver: look at dmesg; the device may need a reset.": (
        "它们多半卡在 GPU 驱动里：请看 dmesg；设备可能需要重置。"
    ),
    "nvidia-smi shows whose it is; nothing else may use the GPU. Then run with --retry-failed.": (
        "nvidia-smi 会显示是谁的；不要让别的程序用 GPU。然后加 --retry-failed 再运行。"
    ),
    "The host's memory ran out.": "主机内存不够。",
    "The host's memory ran out: {x:w} GiB could not be had.": "主机内存不够：申请不到 {x} GiB。",
    "Driver, CUDA toolkit and the engine's torch do not match.": "驱动、CUDA toolkit 与引擎的 torch 不匹配。",
    "Install a driver for the CUDA release of the engine's torch, or a torch and vLLM for this driver.": (
        "安装与引擎的 torch 的 CUDA 版本相符的驱动，或与这个驱动相符的 torch 和 vLLM。"
    ),
    "The GPUs of one engine cannot talk to each other (NCCL).": "同一引擎的 GPU 之间不能通信（NCCL）。",
    "Set NCCL_DEBUG=INFO under env and look at the log; try disable_custom_all_reduce: true, a larger /dev/shm, "
    "or tensor_parallel_size 1.": (
        "在 env 里设 NCCL_DEBUG=INFO 再看日志；试试 disable_custom_all_reduce: true、更大的 /dev/shm，或 "
        "tensor_parallel_size 1。"
    ),
    "A trial's result fits neither Ray's object store on its node nor the disk behind it.": (
        "一次试验的结果在它所在节点的 Ray object store 和背后的磁盘里都放不下。"
    ),
    "Free space where Ray keeps its files there (/tmp/ray), or start that node with more --object-store-memory.": (
        "在那里给 Ray 存文件的地方（/tmp/ray）腾出空间，或用更大的 --object-store-memory 启动那个节点。"
    ),
    "A disk is full.": "磁盘满了。",
    "Free space in the run directory, /tmp, /dev/shm and VLLM_CACHE_ROOT.": (
        "给运行目录、/tmp、/dev/shm 和 VLLM_CACHE_ROOT 腾出空间。"
    ),
    "Try enforce_eager: true, another attention_backend or another release.": (
        "试试 enforce_eager: true、别的 attention_backend 或别的版本。"
    ),
    "A prompt does not fit the engine's context.": "有一个提示词超出引擎的上下文。",
    "Raise max_model_len, or leave the prompt out. A draft with a shorter context may have lowered it.": (
        "提高 max_model_len，或去掉这个提示词。上下文更短的草稿模型可能把它降低了。"
    ),
    "A sampling parameter does not go together with speculation.": "有一个采样参数不能与投机解码同时使用。",
    "Take it out of the load points.": "把它从负载点里去掉。",
    "The worker process was lost, not the engine.": "丢失的是 worker 进程，不是引擎。",
    "The next call of the same command tries it again. If the host's memory ran out, give it more or use fewer "
    "workers (--max-workers).": (
        "再运行同一条命令会重试。如果是主机内存不够，请加内存或减少 worker（--max-workers）。"
    ),
    "The engine stopped making progress while it started.": "引擎启动时停滞不前。",
    "Look at the end of its log. If such a silence is normal (compiling), raise protocol.stall_timeout_s.": (
        "看日志的末尾。如果这样的停顿是正常的（编译），请提高 protocol.stall_timeout_s。"
    ),
    "The engine accepts requests and does not finish them.": "引擎接受请求却不完成。",
    "Raise protocol.request_timeout_s if answers are that slow; else look at the end of its log.": (
        "如果回答确实那么慢，请提高 protocol.request_timeout_s；否则看日志的末尾。"
    ),
    "The engine was not ready in time, though its log still grew.": "引擎没有按时就绪，但日志还在增长。",
    "Raise protocol.start_timeout_s, or make the start cheaper: enforce_eager: true, a kept VLLM_CACHE_ROOT.": (
        "提高 protocol.start_timeout_s，或加快启动：enforce_eager: true、保留 VLLM_CACHE_ROOT。"
    ),
    "Look at the end of its log, and see that nothing stands between the tuner and the engine.": (
        "看日志的末尾，并确认 tuner 与引擎之间没有别的东西。"
    ),
    "Its words are in the message: a parameter, the chat template or a prompt that it does not take.": (
        "它的原话在消息里：是它不接受的参数、chat template 或提示词。"
    ),
    "If nobody sent it, the engine's own code failed: look at the end of its log and at dmesg.": (
        "如果不是谁发的，就是引擎自己的代码出错：看日志的末尾和 dmesg。"
    ),
    "The engine ended for another reason.": "引擎因其他原因退出。",
    "The first causal line and the end of the log are in the trial's record.": "日志里第一行原因和末尾在试验记录里。",
    "the first:": "第一个：",
    "without figures": "没有数字",
}
