from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import every_command
from tests.faults.matrix import Group, fault
from tests.service.conftest import BOTH
from tuner.cli import main
from tuner.errors import InputError
from tuner.service.guard.tokens import TOKEN_VARIABLE
from tuner.service.settings import ServeRequest, settings


def asked(**changes: Any) -> ServeRequest:
    return ServeRequest(**{"registry": "artifacts", "state": Path("serve"), **changes})


@fault(
    Group.SECURITY,
    "`tuner serve` is started on an address that others reach, without a token",
    sees="That there is no token, and how to give one; exit code 2.",
    keeps="Everything: it does not listen.",
)
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "tuner.example.com"])
def test_others_are_let_in_with_a_token_alone(host: str) -> None:
    with pytest.raises(InputError, match="can be reached from other machines"):
        settings(asked(host=host), {})
    assert settings(asked(host=host), {TOKEN_VARIABLE: BOTH}).tokens


def test_names_of_the_server() -> None:
    assert settings(asked(), {}).hosts == {"localhost", "127.0.0.1", "::1"}
    found = settings(asked(host="10.0.0.1", allow_hosts=("Tuner.Example.com", "b:8765")), {TOKEN_VARIABLE: BOTH}).hosts
    assert found == {"localhost", "127.0.0.1", "::1", "10.0.0.1", "tuner.example.com", "b"}
    assert "0.0.0.0" not in settings(asked(host="0.0.0.0"), {TOKEN_VARIABLE: BOTH}).hosts
    with pytest.raises(InputError, match="not a host name"):
        settings(asked(allow_hosts=("a:b:c",)), {})


def test_a_registry_means_the_same_from_another_working_directory() -> None:
    assert settings(asked(), {}).request.registry == str(Path.cwd() / "artifacts")
    assert settings(asked(registry="s3://bucket/x"), {}).request.registry == "s3://bucket/x"


def test_without_its_packages_the_command_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tuner.cli.serve.PACKAGES", ("fastapi", "no_such_package"))
    with pytest.raises(SystemExit) as ended:
        main(["serve"])
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "needs no_such_package" in told and 'pip install "spec-tuner[serve]"' in told


def test_the_unit_in_the_docs_uses_options_that_there_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    known = {
        option
        for param in dict(every_command())["tuner serve"].params
        for option in (*param.opts, *param.secondary_opts)
    }
    start = text[text.index("ExecStart=") : text.index("KillMode=")]
    used = {word for word in start.split() if word.startswith("--")}
    assert used and used <= known
