"""A simulated vLLM: a real HTTP server in a process of its own, with a set latency and acceptance model."""

# The release whose command line, log lines and endpoints are imitated.
IMITATED_VLLM_VERSION = "0.32.0"
