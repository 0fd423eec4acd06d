"""What an engine did not take of models, arguments and packages, in Chinese."""

OF_INPUTS = {
    "max_model_len {a:w} is more than the {b:w} tokens that the model was made for.": (
        "max_model_len {a} 超过模型支持的 {b} 个 token。"
    ),
    "max_num_batched_tokens {a:w} is less than the {b:w} that it has to be here.": (
        "max_num_batched_tokens {a} 小于这里至少需要的 {b}。"
    ),
    "max_num_batched_tokens {a:w} leaves no room beside {b:w} draft tokens.": (
        "max_num_batched_tokens {a} 除了 {b} 个提议的 token 之外没有余地。"
    ),
    "{a:w} attention heads cannot be shared among {b:w} GPUs.": "{a} 个 attention head 不能平分给 {b} 个 GPU。",
    "The parallel sizes ask for {a:w} GPUs, and this engine sees {b:w}.": (
        "并行设置要 {a} 个 GPU，而这个引擎看到 {b} 个。"
    ),
    "max_num_batched_tokens is less than max_model_len, max_num_seqs or the draft tokens need.": (
        "max_num_batched_tokens 小于 max_model_len、max_num_seqs 或提议的 token 所需。"
    ),
    "Raise max_num_batched_tokens.": "提高 max_num_batched_tokens。",
    "The parallel sizes do not go with the model or the node.": "并行设置与模型或节点不符。",
    "Change tensor_parallel_size.": "修改 tensor_parallel_size。",
    "The target's vocabulary has {a:w} tokens, the draft's {b:w}.": (
        "目标模型的词表有 {a} 个 token，草稿模型有 {b} 个。"
    ),
    "This engine does not support the model architecture{name:o}.": "这个引擎不支持该模型架构{name}。",
    "Lower max_model_len to {n:d}.": "把 max_model_len 降到 {n}。",
    "Raise max_num_batched_tokens to {n:d}.": "把 max_num_batched_tokens 提高到 {n}。",
    "Raise max_num_batched_tokens to {n:d}, or lower K.": "把 max_num_batched_tokens 提高到 {n}，或减小 K。",
    "Lower tensor_parallel_size x pipeline_parallel_size to {n:d}.": (
        "把 tensor_parallel_size × pipeline_parallel_size 降到 {n}。"
    ),
    "This release does not know the speculative option {name}.": "这个版本不认识投机解码选项 {name}。",
    "{name} was not valid": "{name} 无效",
    "The Python package {name:w} is missing in the engine's environment.": "引擎的环境里缺少 Python 包 {name}。",
    "Install it there: pip install {name}.": "在那里安装：pip install {name}。",
    "The model{name:o} is gated on the hub.": "模型{name}在 hub 上需要授权。",
    "Files of a model are missing or damaged{where:o}.": "模型的文件缺失或损坏{where}。",
    "Target and draft have different vocabularies.": "目标模型与草稿模型的词表不同。",
    "Use a draft of the same family. From 0.25.1 on use_heterogeneous_vocab: true may help.": (
        "换同一系列的草稿模型。从 0.25.1 起，use_heterogeneous_vocab: true 也许有用。"
    ),
    "max_model_len is more than the model was made for.": "max_model_len 超过模型支持的长度。",
    "Lower max_model_len.": "降低 max_model_len。",
    "Lower max_num_seqs.": "降低 max_num_seqs。",
    "The GPU cannot compute in the type that the model asks for.": "GPU 不能用模型要求的数据类型计算。",
    "This GPU cannot compute in the type that the model asks for: {what}": (
        "这个 GPU 不能用模型要求的数据类型计算：{what}"
    ),
    "Use another dtype or quantisation, or another GPU.": "换 dtype 或量化方式，或换 GPU。",
    "Set dtype: half, or use a newer GPU.": "设 dtype: half，或用更新的 GPU。",
    "The installed torchvision does not match torch.": "安装的 torchvision 与 torch 不匹配。",
    "Text models need none: pip uninstall torchvision torchaudio torchcodec in the engine's environment.": (
        "文本模型不需要它：在引擎的环境里 pip uninstall torchvision torchaudio torchcodec。"
    ),
    "A Python package is missing in the engine's environment.": "引擎的环境里缺少一个 Python 包。",
    "Install it there.": "在那里安装。",
    "The tokenizer has no chat template.": "tokenizer 没有 chat template。",
    "Use the instruct variant, set chat_template, or use an eval set of plain prompts.": (
        "用 instruct 版本，设置 chat_template，或用纯提示词的评测集。"
    ),
    "The model is gated on the hub.": "模型在 hub 上需要授权。",
    "Accept its terms on its page, log in (hf auth login), download it, and give its directory.": (
        "在它的页面上接受条款，登录（hf auth login），下载，然后给出目录。"
    ),
    "The tokenizer cannot be loaded.": "tokenizer 无法加载。",
    "Copy the base model's tokenizer files beside the weights, or set the engine argument tokenizer.": (
        "把基础模型的 tokenizer 文件复制到权重旁边，或设置引擎参数 tokenizer。"
    ),
    "Files of a model are missing or damaged.": "模型的文件缺失或损坏。",
    "Download the model again and give its directory: engines start offline.": "重新下载模型并给出目录：引擎离线启动。",
    "The engine does not support the model architecture.": "引擎不支持该模型架构。",
    "Use a newer engine (--engine), or another model.": "用更新的引擎（--engine），或换模型。",
    "The engine does not support this method, or not with this model.": (
        "引擎不支持这种方法，或不支持它与这个模型同用。"
    ),
    "Use another method or a newer engine; take this draft out of the space.": (
        "换方法或用更新的引擎；把这个草稿模型从空间里去掉。"
    ),
    "This release does not know a speculative option.": "这个版本不认识某个投机解码选项。",
    "Remove it from the draft's options; the page on search spaces lists the releases.": (
        "把它从草稿模型的选项里去掉；搜索空间的文档列出了各个版本。"
    ),
    "Speculation was asked for by flags that are gone.": "要求投机解码用的是已经取消的参数。",
    "Put them into one value: --speculative-config "
    '\'{{"method": ..., "model": ..., "num_speculative_tokens": ...}}\'; in a space, under drafts.': (
        "把它们写进一个值：--speculative-config "
        '\'{{"method": ..., "model": ..., "num_speculative_tokens": ...}}\'；'
        "在空间里写在 drafts 下。"
    ),
    "The engine refuses an argument.": "引擎拒绝了一个参数。",
    "The engine refuses an argument: {what}": "引擎拒绝了一个参数：{what}",
    "Correct or remove it in the search space.": "在搜索空间里改正或去掉它。",
    "This engine does not know the speculative method {name}.": "这个引擎不认识投机解码方法 {name}。",
    "This engine does not support it: {why}": "这个引擎不支持：{why}",
    "Set tensor_parallel_size to one of {ns:l}.": "把 tensor_parallel_size 设为 {ns} 之一。",
    "This release does not know the engine arguments {names:l}.": "这个版本不认识引擎参数 {names}。",
    "A part of vLLM is missing: {what}.": "缺少 vLLM 的一部分：{what}。",
    "Install vLLM again in the engine's environment.": "在引擎的环境里重新安装 vLLM。",
    "the package that it names": "它提到的那个包",
}
