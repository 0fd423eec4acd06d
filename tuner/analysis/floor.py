"""The physical floor of decoding: a step cannot be faster than reading the weights from the GPU's memory. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.analysis.statistics import undefined
from tuner.records import Figure, Json, LoadFigures

READ_TIME = "weight bytes per GPU / data-sheet memory bandwidth"
SHARE = "weight read time / TPOT of the baseline at concurrency 1"


def floor_figures(
    loads: Sequence[LoadFigures],
    engine_args: Mapping[str, Json],
    weight_bytes: int | None,
    bandwidth: float | None,
    device: str,
) -> dict[str, Figure]:
    """Return how long reading the weights takes in each decode step, and how near a baseline comes to that.

    weight_read_s: seconds, W / (B x tensor_parallel_size), with W the bytes that a step reads (weight_bytes) and B the
    bandwidth of one GPU's memory, bytes per second; the stages of a pipeline read one after another.
    bandwidth_share: weight_read_s / TPOT at concurrency 1, a fraction: at 0.8 a step takes 1.25 times as long as
    reading the weights alone. Above 1 something is not as it is assumed here.
    loads: figures of the baseline.  device: its name, for the reason where the bandwidth is not known (None).
    """
    reason = _unknown(engine_args, weight_bytes, bandwidth, device)
    if reason or weight_bytes is None or bandwidth is None:
        return {
            "weight_read_s": undefined("s", READ_TIME, reason, "models"),
            "bandwidth_share": undefined("fraction", SHARE, reason),
        }
    gpus = int(str(engine_args.get("tensor_parallel_size") or 1))
    seconds = weight_bytes / gpus / bandwidth
    note = f"{weight_bytes / gpus / 1e9:.4g} GB at {bandwidth / 1e12:.4g} TB/s"
    return {
        "weight_read_s": Figure(seconds, "s", READ_TIME, 1, "models", note=note),
        "bandwidth_share": _share(seconds, loads),
    }


def _unknown(engine_args: Mapping[str, Json], weight_bytes: int | None, bandwidth: float | None, device: str) -> str:
    if weight_bytes is None:
        return "the size of the weights is not known"
    if bandwidth is None:
        return f"the memory bandwidth of {device} is not in the table"
    if engine_args.get("quantization"):
        return f"weights are loaded with quantization {engine_args['quantization']}, so their files say too little"
    if engine_args.get("dtype") in ("float32", "float"):
        return "weights are loaded in 32 bits, so their files say too little"
    return ""


def _share(seconds: float, loads: Sequence[LoadFigures]) -> Figure:
    alone = [load.figures.get("tpot_s") for load in loads if load.load_point.concurrency == 1]
    tpot = next((figure for figure in alone if figure is not None and figure.value), None)
    if tpot is None or not tpot.value:
        return undefined("fraction", SHARE, "no baseline was measured at concurrency 1")
    return Figure(
        value=seconds / tpot.value,
        unit="fraction",
        estimator=SHARE,
        n=tpot.n,
        n_of=tpot.n_of,
        low=seconds / tpot.high if tpot.high else None,
        high=seconds / tpot.low if tpot.low else None,
    )
