import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.service.guard.hosts import LOOPBACK, host_allowed, host_name, is_loopback, origin_allowed


@pytest.mark.parametrize(
    ("authority", "host"),
    [
        ("localhost", "localhost"),
        ("LocalHost:8765", "localhost"),
        ("tuner.example.com.", "tuner.example.com"),
        ("[::1]:8765", "::1"),
        ("[::1]", "::1"),
        ("", None),
        (":8765", None),
        ("localhost:x", None),
        ("localhost:123456", None),
        ("[::1", None),
        ("[::1]x", None),
        ("localhost:٣", None),
    ],
)
def test_the_name_in_a_host_header(authority: str, host: str | None) -> None:
    assert host_name(authority) == host


def test_exactly_one_host_header_must_name_the_server() -> None:
    assert host_allowed(["localhost:1"], LOOPBACK)
    assert not host_allowed([], LOOPBACK)
    assert not host_allowed(["localhost", "localhost"], LOOPBACK)
    assert not host_allowed(["localhost.evil.example"], LOOPBACK)


@given(st.text())
def test_any_header_can_be_looked_at(header: str) -> None:
    host_name(header)
    origin_allowed("POST", [header], "", header)


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost")),
        *((host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "tuner.example.com", "localhost.example")),
    ],
)
def test_which_addresses_only_this_machine_reaches(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


@pytest.mark.parametrize(
    ("method", "origins", "site", "host", "allowed"),
    [
        ("GET", ["https://evil.example"], "cross-site", "localhost", True),
        ("POST", [], "", "localhost:8765", True),
        ("POST", ["http://localhost:8765"], "same-origin", "localhost:8765", True),
        ("POST", ["https://tuner.example.com"], "", "tuner.example.com", True),
        ("POST", ["https://tuner.example.com:443"], "", "tuner.example.com", True),
        ("POST", ["http://localhost"], "", "localhost:8765", False),
        ("POST", ["http://localhost:8765", "http://localhost:8765"], "", "localhost:8765", False),
        ("POST", ["file://localhost:8765"], "", "localhost:8765", False),
        ("DELETE", ["null"], "", "localhost:8765", False),
        ("DELETE", [], "cross-site", "localhost:8765", False),
        ("PUT", ["https://evil.example"], "", "localhost:8765", False),
    ],
)
def test_who_may_change_something(method: str, origins: list[str], site: str, host: str, allowed: bool) -> None:
    assert origin_allowed(method, origins, site, host) is allowed
