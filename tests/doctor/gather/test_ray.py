import socket
from pathlib import Path

import pytest

from tuner.doctor.gather import ray
from tuner.doctor.gather.ray import ray_facts
from tuner.pool.cluster import endpoint


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("head:6379", ("head", 6379)),
        ("10.0.0.1:6379", ("10.0.0.1", 6379)),
        ("ray://head:10001", ("head", 10001)),
        ("[::1]:6379", ("::1", 6379)),
        ("auto", None),
        ("local", None),
        ("", None),
        ("head", None),
        ("head:none", None),
    ],
)
def test_where_an_address_leads(address: str, expected: tuple[str, int] | None) -> None:
    assert endpoint(address) == expected


def test_a_cluster_that_answers_and_one_that_does_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert ray_facts({"RAY_ADDRESS": address}, None).reached is True
    assert ray_facts({"RAY_ADDRESS": address}, None).reached is False
    assert ray_facts({"RAY_ADDRESS": "nonsense"}, None).reached is False
    assert ray_facts({}, None).reached is None


def test_where_ray_looks_for_its_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not ray_facts({}, None).has_token
    assert ray_facts({"RAY_AUTH_TOKEN": "x"}, None).has_token
    (tmp_path / "token").touch()
    assert ray_facts({"RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}, None).has_token
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray/auth_token").touch()
    assert ray_facts({}, None).has_token


@pytest.mark.parametrize(
    ("script", "started_s", "problem"),
    [
        ('print(\'{"started_s": 4.5, "nodes": 1}\')', 4.5, ""),
        ('print(\'{"problem": "no room"}\')', None, "no room"),
        ("import sys; sys.exit(3)", None, "ended with exit code 3"),
        ("import time; time.sleep(60)", None, "did not start within 1 s"),
    ],
)
def test_a_start_that_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, started_s: float | None, problem: str
) -> None:
    (tmp_path / "start.py").write_text(script)
    monkeypatch.setattr(ray, "SCRIPT", tmp_path / "start.py")
    found = ray_facts({}, 1.0 if "sleep" in script else 20.0)
    assert found.started_s == started_s
    assert problem in found.problem
