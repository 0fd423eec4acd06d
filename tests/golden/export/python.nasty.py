# /models/it's $HOME/模型: speculate_below at temperature 0.7.
# It was measured.
# Here: org/draft, K = 4 (recommended). Measured on NVIDIA H200 with vLLM 0.32.0.
# Route at most 8 requests to it.
# Where nothing else limits the load, max-num-seqs: 8 does.
# As for serve.speculate.yaml and serve.baseline.yaml: `tuner export` writes the same with --limited and --baseline.
# Left out because it may be a secret: HF_TOKEN.
# Left out, as the HTTP server alone has them: allowed_origins.
# LLM is not the server that was measured: where max_num_seqs and max_num_batched_tokens are not set, it takes larger ones.
import os

# vLLM reads these when it is imported.
os.environ['VLLM_A'] = '1e3'
os.environ['VLLM_B'] = 'it\'s "$HOME" {{ x }}'

from vllm import LLM, SamplingParams


def engine() -> LLM:
    return LLM(
        model="/models/it's $HOME/模型",
        gpu_memory_utilization=0.9,
        served_model_name=['a', 'b'],
        dtype='on',
        chat_template='-{{ x }}',
        hf_overrides={'a': {'b': [1, None, 'null']}},
        enforce_eager=True,
        enable_chunked_prefill=False,
        speculative_config={'method': 'draft_model', 'num_speculative_tokens': 4, 'model': 'org/draft', 'note': None, 'on': True},
    )


if __name__ == "__main__":
    llm = engine()
    answers = llm.chat(
        [{"role": "user", "content": "What is speculative decoding?"}],
        SamplingParams(temperature=0.7, max_tokens=128),
    )
    print(answers[0].outputs[0].text)
