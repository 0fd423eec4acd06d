import json

import pytest

from tuner.cli import main
from tuner.cli.old_options import old_options


@pytest.mark.parametrize(
    ("arguments", "names", "form"),
    [
        (["--speculative-model", "org/small", "--num-speculative-tokens=5"], "--speculative-model, --num-", "k: 5"),
        (["-sc", '{"method": "eagle3", "model": "h"}'], "-sc is", "{method: eagle3, model: h}"),
        (["--speculative-config.method", "ngram"], "--speculative-config.method is", "{method: ngram}"),
        (["--use-v2-block-manager", "--json"], "--use-v2-block-manager is", "leave it out"),
    ],
)
def test_the_engines_flags_are_answered_with_the_new_form(arguments: list[str], names: str, form: str) -> None:
    error = old_options(["sweep", "target", *arguments])
    assert error is not None
    assert names in error.message
    assert form in error.next_step


@pytest.mark.parametrize("arguments", [[], ["--draft", "speculative_model"], ["--k", "5"], ["--no-such-option"]])
def test_other_options_are_none_of_them(arguments: list[str]) -> None:
    assert old_options(["sweep", "target", *arguments]) is None


def test_they_are_an_error_of_input_with_json_where_that_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["plan", "target", "--speculative-model", "small", "--json"])
    told = capsys.readouterr()
    assert exit_.value.code == 2
    assert "model: small" in json.loads(told.out)["next_step"]
    assert "No such option" not in told.err
