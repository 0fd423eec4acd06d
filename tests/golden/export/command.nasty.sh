# /models/it's $HOME/模型: speculate_below at temperature 0.7.
# It was measured.
# Here: org/draft, K = 4 (recommended). Measured on NVIDIA H200 with vLLM 0.32.0.
# Route at most 8 requests to it.
# Where nothing else limits the load, max-num-seqs: 8 does.
# As for serve.speculate.yaml and serve.baseline.yaml: `tuner export` writes the same with --limited and --baseline.
# Left out because it may be a secret: HF_TOKEN.
VLLM_A=1e3 \
VLLM_B='it'"'"'s "$HOME" {{ x }}' \
python -m vllm.entrypoints.openai.api_server --model '/models/it'"'"'s $HOME/模型' \
  --gpu-memory-utilization 0.9 \
  --served-model-name a b \
  --dtype on \
  '--chat-template=-{{ x }}' \
  --hf-overrides '{"a": {"b": [1, null, "null"]}}' \
  --allowed-origins '["*"]' \
  --enforce-eager \
  --no-enable-chunked-prefill \
  --speculative-config '{"method": "draft_model", "num_speculative_tokens": 4, "model": "org/draft", "note": null, "on": true}'
