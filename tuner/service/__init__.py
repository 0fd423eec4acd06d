"""`tuner serve`: what the registry holds, for deployments to read and for people to look at, and a queue of sweeps.

routes  what can be asked, as FastAPI functions that read and answer
guard   who may ask: hosts, origins, tokens, rates, sizes; one ASGI layer around everything
queue   sweeps that wait, one that runs, and what came of the others; kept on disk
pages   the same for people, as HTML without a request to anywhere
"""
