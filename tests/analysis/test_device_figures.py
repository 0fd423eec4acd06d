from tuner.analysis.device_figures import device_figures
from tuner.records import Counters, DeviceLoad, Repeat


def repeat(index: int, device: DeviceLoad | None) -> Repeat:
    return Repeat(index, 1.0, Counters(10, 10, 1), 1, 0, device=device)


def test_means_and_extremes_over_the_repeats_that_have_them() -> None:
    found = device_figures(
        [
            repeat(0, DeviceLoad("nvml", 4, gpu_utilisation=0.5, gpu_temperature_c=60.0, gpu_clock_min_mhz=1900.0)),
            repeat(1, DeviceLoad("nvml", 4, gpu_utilisation=0.9, gpu_temperature_c=64.0, gpu_clock_min_mhz=1400.0)),
            repeat(2, DeviceLoad("nvml", 0, cpu_others=0.25)),
            repeat(3, None),
        ]
    )
    assert {name: (figure.value, figure.n) for name, figure in found.items()} == {
        "gpu_utilisation": (0.7, 2),
        "gpu_clock_min_mhz": (1400.0, 2),
        "gpu_temperature_c": (64.0, 2),
        "cpu_others": (0.25, 1),
    }
    assert (found["gpu_utilisation"].unit, found["gpu_utilisation"].estimator) == ("fraction", "mean over repeats")


def test_what_was_not_read_has_no_figure() -> None:
    assert device_figures([repeat(0, None)]) == {}
