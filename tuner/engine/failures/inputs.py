"""Causes that lie in models, arguments and packages. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from tuner.engine.failures.cause import Case, Row, Told

_SIZES = re.compile(
    r"should have the same vocabulary size"
    r"(?:.*?Target model vocab_size=(?P<target>\d{1,9}).*?Draft model vocab_size=(?P<draft>\d{1,9}))?"
)
_UNSUPPORTED = re.compile(
    r"Unsupported speculative method: '(?P<method>[^']*)'|NotImplementedError: (?P<why>.*)|"
    r"(?P<other>[\w' -]{0,80}(?:[Ss]peculative|[Dd]raft)[\w' -]{0,80} (?:is|are) not (?:yet )?supported.*)"
)
_MODEL = re.compile(
    r"Model architectures? (?P<names>\[.*?\]|\S+) (?:are|is) not supported|does not recognize this architecture|"
    r"(?P<class>\S{1,100}) has no vLLM implementation and"
)
_DERIVED = re.compile(
    r"User-specified max_model_len \((?P<asked>\d{1,9})\) is greater than the derived "
    r"max_model_len \(\w+=(?P<known>\d{1,9})"
)
_BATCHED = re.compile(
    r"max_num_batched_tokens \((?P<now>\d{1,9})\) (?:is smaller than max_model_len|must be greater than or equal to "
    r"max_num_seqs) \((?P<least>\d{1,9})\)"
)
_NO_ROOM_TO_SCHEDULE = re.compile(
    r"max_num_batched_tokens=(?P<now>\d{1,9}) and scheduled_token_delta=(?P<delta>\d{1,9})"
)
_HEADS = re.compile(
    r"attention heads \((?P<heads>\d{1,9})\) must be divisible by tensor parallel size \((?P<size>\d{1,9})\)"
)
_WORLD = re.compile(
    r"World size \((?P<size>\d{1,9})\) is larger than the number of available GPUs \((?P<gpus>\d{1,9})\)"
)
_DTYPE = re.compile(
    r"is only supported on GPUs with compute capability.*|"
    r"quantization method \S+ is not supported for the current GPU.*|"
    r"no kernel image is available for execution.*|\b\w{1,40} is not supported for quantization method.*"
)
_KEY = re.compile(r"SpeculativeConfig: (?P<key>\w+): (?:Unexpected keyword argument|Extra inputs are not permitted)")
_ARGUMENT = re.compile(
    r"unrecognized arguments: (?P<names>.+)|error: argument (?P<one>\S+?:.*)|\b\w{1,80}: Value error, (?P<why>.*)|"
    r"validation errors? for (?P<name>\w+)|"
    r"(?P<what>\b\w{1,80}: \w{1,80}: (?:Input should be|Unexpected keyword|Extra inputs).*)"
)
_SPECULATIVE_OLD = re.compile(r"unrecognized arguments: (?=.*--(?:speculative-model|num-speculative-tokens))")
_PIP = re.compile(r"`?pip install (?:-U |--upgrade )?[\"']?(?P<name>[A-Za-z][\w.\[\]-]*(?:==[\w.]+)?)")
_ABSENT = re.compile(
    r"No module named '?(?P<module>[\w.]+)'?|is required for suffix decoding|(?<=ImportError: )Please install"
)
_VISION = re.compile(r"operator torchvision::\w+ does not exist")
_TEMPLATE = re.compile(
    r"default chat template is no longer allowed|ChatTemplateResolutionError|chat template .*not (?:found|defined)|"
    r"tokenizer\.chat_template is not set"
)
_GATED = re.compile(r"gated repo|GatedRepoError|is a gated repository|Access to model (?P<model>\S+) is restricted")
_FILES = re.compile(
    r"Cannot find any (?:safetensors )?model weights with `(?P<weights>[^`]*)`|SafetensorError|incomplete metadata|"
    r"Invalid repository ID or local directory|does not appear to have a file named (?P<file>\S+)|"
    r"RepositoryNotFoundError|LocalEntryNotFoundError|OfflineModeIsEnabled|outgoing traffic has been disabled|"
    r"couldn't connect to 'https://huggingface|is not a valid model identifier|Error while deserializing header"
)
_TOKENIZER = re.compile(
    r"Can't load tokenizer for '(?P<model>[^']*)'|No tokenizer file found|Failed to load (?:the )?tokenizer|"
    r"Tokenizer class \S+ does not exist|Couldn't instantiate the backend tokenizer"
)

_PIP_NAMES = {
    "flashinfer": "flashinfer-python",
    "arctic_inference": "arctic-inference",
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "sklearn": "scikit-learn",
    "flash_attn": "flash-attn",
    "google": "protobuf",
    "zmq": "pyzmq",
}
"""Packages whose name on PyPI is not the module's with hyphens."""


def _vocabulary(match: re.Match[str], case: Case) -> Told:
    if match["target"] is None:
        return Told("Target and draft have different vocabularies.")
    return Told(f"The target's vocabulary has {match['target']} tokens, the draft's {match['draft']}.")


def _unsupported(match: re.Match[str], case: Case) -> Told:
    if match["method"]:
        return Told(f"This engine does not know the speculative method {match['method']}.")
    why = match["why"] or match["other"] or ""
    return Told(f"This engine does not support it: {why.strip()[:200]}".rstrip(" .:") + ".")


def _model(match: re.Match[str], case: Case) -> Told:
    names = match["names"] or match["class"]
    return Told(f"This engine does not support the model architecture{f' {names}' if names else ''}.")


def _derived(match: re.Match[str], case: Case) -> Told:
    asked, known = match["asked"], int(match["known"])
    what = f"max_model_len {asked} is more than the {known} tokens that the model was made for."
    return Told(what, f"Lower max_model_len to {known}.", {"max_model_len": known})


def _batched(match: re.Match[str], case: Case) -> Told:
    now, least = int(match["now"]), int(match["least"])
    what = f"max_num_batched_tokens {now} is less than the {least} that it has to be here."
    return Told(what, f"Raise max_num_batched_tokens to {least}.", {"max_num_batched_tokens": least})


def _no_room_to_schedule(match: re.Match[str], case: Case) -> Told:
    now, delta = int(match["now"]), int(match["delta"])
    what = f"max_num_batched_tokens {now} leaves no room beside {delta} draft tokens."
    new = delta + max(now, 2048)
    return Told(what, f"Raise max_num_batched_tokens to {new}, or lower K.", {"max_num_batched_tokens": new})


def _heads(match: re.Match[str], case: Case) -> Told:
    heads, size = int(match["heads"]), match["size"]
    sizes = ", ".join(str(n) for n in range(1, min(heads, 64) + 1) if heads % n == 0)
    what = f"{heads} attention heads cannot be shared among {size} GPUs."
    return Told(what, f"Set tensor_parallel_size to one of {sizes}." if sizes else "")


def _world(match: re.Match[str], case: Case) -> Told:
    what = f"The parallel sizes ask for {match['size']} GPUs, and this engine sees {match['gpus']}."
    return Told(what, f"Lower tensor_parallel_size x pipeline_parallel_size to {match['gpus']}.")


def _dtype(match: re.Match[str], case: Case) -> Told:
    half = "bfloat16" in match.string.lower()
    what = f"This GPU cannot compute in the type that the model asks for: {match[0][:160]}".rstrip(" .") + "."
    return Told(what, "Set dtype: half, or use a newer GPU." if half else "")


def _key(match: re.Match[str], case: Case) -> Told:
    return Told(f"This release does not know the speculative option {match['key']}.")


def _argument(match: re.Match[str], case: Case) -> Told:
    if match["names"]:
        return Told(f"This release does not know the engine arguments {match['names'].strip()[:200]}.")
    why = match["one"] or match["why"] or match["what"] or f"{match['name']} was not valid"
    return Told(f"The engine refuses an argument: {why.strip()[:300]}".rstrip(" .") + ".")


def _package(match: re.Match[str], case: Case) -> Told:
    named = _PIP.search(match.string) or _PIP.search(case.cause)
    module = match["module"]
    if module and module.partition(".")[0] == "vllm":
        return Told(f"A part of vLLM is missing: {module}.", "Install vLLM again in the engine's environment.")
    name = named["name"].rstrip(".") if named else pip_name(module or "the package that it names")
    return Told(
        f"The Python package {name} is missing in the engine's environment.",
        f"Install it there: pip install {name}.",
    )


def pip_name(module: str) -> str:
    """Return what a module is called on PyPI."""
    first = module.partition(".")[0]
    return _PIP_NAMES.get(first, first.replace("_", "-"))


def _gated(match: re.Match[str], case: Case) -> Told:
    name = f" {match['model']}" if match["model"] else ""
    return Told(f"The model{name} is gated on the hub.")


def _files(match: re.Match[str], case: Case) -> Told:
    missing = match["weights"] or match["file"]
    return Told(f"Files of a model are missing or damaged{f': {missing}' if missing else ''}.")


_BATCHED_TOO_FEW = Row(
    "batched_tokens_too_few",
    "max_num_batched_tokens is less than max_model_len, max_num_seqs or the draft tokens need.",
    "Raise max_num_batched_tokens.",
    _BATCHED,
    tell=_batched,
)

_PARALLEL = Row(
    "tensor_parallel",
    "The parallel sizes do not go with the model or the node.",
    "Change tensor_parallel_size.",
    _HEADS,
    tell=_heads,
)

ROWS = (
    Row(
        "vocabulary",
        "Target and draft have different vocabularies.",
        "Use a draft of the same family. From 0.25.1 on use_heterogeneous_vocab: true may help.",
        _SIZES,
        tell=_vocabulary,
    ),
    Row(
        "context_beyond_model",
        "max_model_len is more than the model was made for.",
        "Lower max_model_len.",
        _DERIVED,
        tell=_derived,
    ),
    _BATCHED_TOO_FEW,
    replace(_BATCHED_TOO_FEW, pattern=_NO_ROOM_TO_SCHEDULE, tell=_no_room_to_schedule),
    _PARALLEL,
    replace(_PARALLEL, pattern=_WORLD, tell=_world),
    Row(
        "dtype_not_supported",
        "The GPU cannot compute in the type that the model asks for.",
        "Use another dtype or quantisation, or another GPU.",
        _DTYPE,
        tell=_dtype,
    ),
    Row(
        "torchvision_mismatch",
        "The installed torchvision does not match torch.",
        "Text models need none: pip uninstall torchvision torchaudio torchcodec in the engine's environment.",
        _VISION,
    ),
    Row(
        "missing_package",
        "A Python package is missing in the engine's environment.",
        "Install it there.",
        _ABSENT,
        tell=_package,
    ),
    Row(
        "chat_template_missing",
        "The tokenizer has no chat template.",
        "Use the instruct variant, set chat_template, or use an eval set of plain prompts.",
        _TEMPLATE,
    ),
    Row(
        "model_gated",
        "The model is gated on the hub.",
        "Accept its terms on its page, log in (hf auth login), download it, and give its directory.",
        _GATED,
        tell=_gated,
    ),
    Row(
        "tokenizer",
        "The tokenizer cannot be loaded.",
        "Copy the base model's tokenizer files beside the weights, or set the engine argument tokenizer.",
        _TOKENIZER,
    ),
    Row(
        "model_files_missing",
        "Files of a model are missing or damaged.",
        "Download the model again and give its directory: engines start offline.",
        _FILES,
        tell=_files,
    ),
    Row(
        "model_not_supported",
        "The engine does not support the model architecture.",
        "Use a newer engine (--engine), or another model.",
        _MODEL,
        tell=_model,
    ),
    Row(
        "method_not_supported",
        "The engine does not support this method, or not with this model.",
        "Use another method or a newer engine; take this draft out of the space.",
        _UNSUPPORTED,
        tell=_unsupported,
    ),
    Row(
        "unknown_speculative_option",
        "This release does not know a speculative option.",
        "Remove it from the draft's options; the page on search spaces lists the releases.",
        _KEY,
        tell=_key,
    ),
    Row(
        "old_speculative_flags",
        "Speculation was asked for by flags that are gone.",
        'Put them into one value: --speculative-config \'{"method": ..., "model": ..., '
        '"num_speculative_tokens": ...}\'; in a space, under drafts.',
        _SPECULATIVE_OLD,
    ),
    Row(
        "bad_argument",
        "The engine refuses an argument.",
        "Correct or remove it in the search space.",
        _ARGUMENT,
        tell=_argument,
    ),
)
