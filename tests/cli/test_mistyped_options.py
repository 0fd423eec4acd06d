import pytest

from tuner.cli import main


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--space", "a", "--space=b"], ["--eval-set", "chat", "--eval-set", "code"]])
def test_an_option_given_twice_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert f"{arguments[0]} is given twice" in told(["plan", "target", *arguments], capsys)


def test_an_option_that_may_be_repeated_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "t", "--space", "nowhere.yaml", "--draft", "a", "--draft", "b", "--download", "--download"]
    assert "nowhere.yaml" in told(words, capsys)


@pytest.mark.parametrize(
    ("option", "answer"),
    [
        ("--k=3", "k: 3"),
        ("--concurrency", "concurrency under load_points"),
        ("--max-model-len", "max_model_len under engine_args"),
        ("--target", "TARGET is the first argument"),
    ],
)
def test_what_stands_in_the_space_is_said_to(option: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer in told(["plan", "target", option], capsys)


def test_what_nothing_knows_stays_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert "search space" not in told(["plan", "target", "--no-such-thing"], capsys)
