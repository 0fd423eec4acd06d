import pytest

from tuner.doctor.check import State
from tuner.doctor.facts import RayFacts
from tuner.doctor.judge.ray import judge_ray


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (RayFacts("2.60.0"), [("ray", State.OK)]),
        (RayFacts(None), [("ray", State.FAIL)]),
        (RayFacts("2.60.0", "head:6379", reached=True), [("ray", State.OK)]),
        (RayFacts("2.60.0", "head:6379", reached=False), [("ray", State.FAIL)]),
        (RayFacts("2.60.0", "auto"), [("ray", State.FAIL)]),
        (RayFacts("2.60.0", "auto", running=(7,)), [("ray", State.OK)]),
        (RayFacts("2.60.0", running=(7,)), [("ray", State.OK), ("ray_others", State.INFO)]),
        (RayFacts("2.60.0", auth_mode="token"), [("ray", State.OK), ("ray_token", State.WARN)]),
        (RayFacts("2.60.0", auth_mode="token", has_token=True), [("ray", State.OK)]),
        (
            RayFacts("2.60.0", "head:6379", reached=True, auth_mode="token"),
            [("ray", State.OK), ("ray_token", State.FAIL)],
        ),
        (RayFacts("2.60.0", started_s=5.1), [("ray", State.OK), ("ray_start", State.OK)]),
        (RayFacts("2.60.0", problem="no room"), [("ray", State.OK), ("ray_start", State.FAIL)]),
    ],
)
def test_whether_workers_can_be_had(facts: RayFacts, expected: list[tuple[str, State]]) -> None:
    checks = judge_ray(facts)
    assert [(check.name, check.state) for check in checks] == expected
    assert all(check.next_step for check in checks if check.state in (State.WARN, State.FAIL))


def test_a_start_that_was_not_tried_says_how_to_try_it() -> None:
    assert "--deep" in judge_ray(RayFacts("2.60.0"))[0].what
    assert "--deep" not in judge_ray(RayFacts("2.60.0", started_s=5.1))[0].what
