"""The traffic of the space file: shares of busy time by concurrency, and which load points stand for them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tuner.errors import SpaceError
from tuner.records import Coverage, LoadPoint, Traffic
from tuner.space.file_model import SpaceFile
from tuner.space.yaml_lines import YamlText

METRIC = "vllm:num_requests_running"
ROUNDING = 0.015
"""How far typed-in shares may be from adding up to 1."""
NO_TRAFFIC_WEIGHT = 1e-6
"""Weight of a load point that no traffic falls on: it can still be looked at alone, and moves no mean that matters."""
_EXPORT = f"Save the answer of Prometheus to /api/v1/query_range?query={METRIC}&start=...&end=...&step=... as JSON."


def read_traffic(yaml: YamlText, file: SpaceFile) -> Traffic | None:
    """Return the traffic that the space file names, None where it names none.

    Raises SpaceError for what is no traffic, and where a load point has a weight of its own beside it.
    """
    part = file.traffic
    if part is None:
        return None
    if (part.shares is None) == (part.prometheus is None):
        message = "traffic needs shares or prometheus, and not both."
        raise yaml.error(("traffic",), message, "Write `traffic: {shares: {1: 0.7, 8: 0.3}}`, or name a file.")
    for i, load in enumerate(file.load_points):
        if "weight" in load.model_fields_set:
            message = f"load_points[{i}] has a weight, and with traffic each weighs what its concurrency has of it."
            raise yaml.error(("load_points", i, "weight"), message, "Leave `weight:` or `traffic:` out.")
    if part.shares is not None:
        return _typed(yaml, part.shares)
    path = Path(part.prometheus or "").expanduser()
    return read_prometheus(path if path.is_absolute() else yaml.path.parent / path)


def _typed(yaml: YamlText, written: Mapping[str, float]) -> Traffic:
    shares = {int(concurrency): share for concurrency, share in written.items() if share}
    total = math.fsum(shares.values())
    if abs(total - 1) > ROUNDING:
        message = f"traffic.shares add up to {total:g}, not 1."
        raise yaml.error(("traffic", "shares"), message, "Write the shares of the time in which requests run.")
    return Traffic({concurrency: share / total for concurrency, share in sorted(shares.items())})


def read_prometheus(path: Path) -> Traffic:
    """Return the traffic of a file with a range query's answer.  Raises SpaceError that names the file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise SpaceError(f"traffic: {path} cannot be read: {reason}.", "Check `traffic: {prometheus: ...}`.") from error
    try:
        return parse_prometheus(text, path.name)
    except ValueError as error:
        raise SpaceError(f"traffic: {path}: {error}.", _EXPORT) from error


def parse_prometheus(text: str, source: str) -> Traffic:
    """Return shares of busy time from a range query's JSON of vllm:num_requests_running.

    Each series is an engine of its own, and each of its samples an equal piece of that engine's time. Samples are
    rounded to whole requests, those between 0 and 1 to 1. NaN is no sample, 0 is an idle engine. Where samples are
    missing, that time is not known and counts nowhere.
    source: for the record.  Raises ValueError with what is wrong.
    """
    values = list(_samples(_series(text)))
    busy = Counter(max(1, round(value)) for value in values if value > 0)
    if not busy:
        raise ValueError("no request ran in it" if values else "it holds no samples")
    total = busy.total()
    return Traffic({n: count / total for n, count in sorted(busy.items())}, source, len(values), len(values) - total)


def _series(text: str) -> list[object]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("it is no JSON") from error
    if isinstance(document, dict) and document.get("status") == "error":
        raise ValueError(f"Prometheus answered with an error: {document.get('error')}")
    data = document.get("data") if isinstance(document, dict) else None
    kind = data.get("resultType") if isinstance(data, dict) else None
    if not isinstance(data, dict) or kind is None:
        raise ValueError("it is no answer of Prometheus: data.resultType is missing")
    if kind != "matrix":
        raise ValueError(f"it holds a {kind!s:.20}, not a matrix: that is no range query's answer")
    result = data.get("result")
    if not isinstance(result, list):
        raise ValueError("data.result is no list")
    return result


def _samples(series: Iterable[object]) -> Iterable[float]:
    for i, one in enumerate(series):
        metric = one.get("metric") if isinstance(one, dict) else None
        name = str(metric.get("__name__", "")) if isinstance(metric, dict) else ""
        if name.startswith("vllm:") and name != METRIC:
            raise ValueError(f"data.result[{i}] is {name:.60}, not {METRIC}")
        values = one.get("values") if isinstance(one, dict) else None
        if not isinstance(values, list):
            raise ValueError(f"data.result[{i}] has no list of values")
        for j, pair in enumerate(values):
            value = _number(pair)
            if value is None:
                raise ValueError(f'data.result[{i}].values[{j}] is {pair!r:.60}, not [time, "number of requests"]')
            if not math.isnan(value):
                yield value


def _number(pair: object) -> float | None:
    """Return the value of a sample, NaN for none; None where it is no number that a count of requests can be."""
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str | int | float):
        return None
    try:
        value = float(pair[1])
    except (ValueError, OverflowError):
        return None
    return None if value < 0 or math.isinf(value) or isinstance(pair[1], bool) else value


def coverage(traffic: Traffic, concurrencies: Iterable[int]) -> Coverage:
    """Return which measured concurrency stands for which share of the traffic.

    That is the nearest one by ratio (distance of logarithms), of two equally near ones the larger, where speculation
    gains less. Nothing stands for more requests than were measured.
    """
    measured = sorted(set(concurrencies))
    shares = dict.fromkeys(measured, 0.0)
    for n, share in traffic.shares.items():
        if n <= measured[-1]:
            shares[_nearest(n, measured)] += share
    return Coverage(
        traffic=traffic,
        shares=shares,
        beyond=math.fsum(share for n, share in traffic.shares.items() if n > measured[-1]),
        below=math.fsum(share for n, share in traffic.shares.items() if n < measured[0]),
        largest=max(traffic.shares),
    )


def _nearest(n: int, measured: Sequence[int]) -> int:
    """Return the member of `measured` (ascending) nearest to n by ratio; exact, so that ties are ties."""
    below = max((c for c in measured if c <= n), default=None)
    above = min((c for c in measured if c >= n), default=None)
    if below is None or above is None:
        return measured[0] if below is None else measured[-1]
    return above if above * below <= n * n else below


def by_temperature(traffic: Traffic | None, points: Sequence[LoadPoint]) -> dict[float, Coverage]:
    """Return how the load points of each temperature cover the traffic; {} without one."""
    if traffic is None:
        return {}
    temperatures = dict.fromkeys(point.sampling.temperature for point in points)
    return {t: coverage(traffic, (p.concurrency for p in points if p.sampling.temperature == t)) for t in temperatures}


def not_covered(found: Mapping[float, Coverage]) -> tuple[str, ...]:
    """Return a sentence for each part of the traffic that no load point stands for as it is, each once."""
    sentences = [sentence for covered in found.values() for sentence in _gaps(covered)]
    return tuple(dict.fromkeys(sentences))


def _gaps(covered: Coverage) -> Iterable[str]:
    smallest, largest = min(covered.shares), max(covered.shares)
    if covered.beyond:
        yield (
            f"traffic: {_percent(covered.beyond)} of the busy time is at a concurrency above {largest} (up to "
            f"{covered.largest}), which no load point measures: it counts nowhere"
        )
    if covered.below:
        yield (
            f"traffic: {_percent(covered.below)} of the busy time is at a concurrency below {smallest} and "
            f"counts as {smallest}"
        )


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "less than 1 %"


def weighted(points: Sequence[LoadPoint], traffic: Traffic | None) -> tuple[LoadPoint, ...]:
    """Return the load points with the traffic's shares as their weights; as they are without one.

    Load points of one temperature and concurrency share what their concurrency has equally.
    Raises SpaceError where nothing of the traffic falls on the load points of a temperature.
    """
    found = by_temperature(traffic, points)
    for temperature, covered in found.items():
        if not any(covered.shares.values()):
            raise SpaceError(
                f"traffic: all of it is at more requests at once than the {max(covered.shares)} of the load points at "
                f"temperature {temperature:g}.",
                "Add load points at the concurrency of the traffic.",
            )
    if not found:
        return tuple(points)
    same = Counter((point.sampling.temperature, point.concurrency) for point in points)

    def weight(point: LoadPoint) -> float:
        share = found[point.sampling.temperature].shares[point.concurrency]
        return max(share / same[point.sampling.temperature, point.concurrency], NO_TRAFFIC_WEIGHT)

    return tuple(replace(point, weight=weight(point)) for point in points)
