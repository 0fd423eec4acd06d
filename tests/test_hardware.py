"""What is known of devices by their name."""

from __future__ import annotations

import pytest

from tuner.hardware import cpu_model, memory_bandwidth


@pytest.mark.parametrize(
    ("device", "bytes_per_s"),
    [
        ("NVIDIA H200", 4.8e12),
        ("4 x NVIDIA H100 80GB HBM3", 3.35e12),
        ("NVIDIA A100-SXM4-40GB", 1.555e12),
        ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", None),
        ("NVIDIA L4, NVIDIA A10", None),
        ("AMD EPYC", None),
        ("", None),
    ],
)
def test_bandwidth_is_that_of_one_card_known_by_its_full_name(device: str, bytes_per_s: float | None) -> None:
    assert memory_bandwidth(device) == (None if bytes_per_s is None else pytest.approx(bytes_per_s))


def test_the_processor_has_a_name() -> None:
    assert cpu_model().strip()
