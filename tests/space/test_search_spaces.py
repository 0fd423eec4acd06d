import pytest

from tuner.space.candidates import candidates, unavailable_reason
from tuner.space.eval_sets import find_eval_set
from tuner.space.schema import load_space
from tuner.space.shipped import shipped_names


def test_the_shipped_spaces_are_the_ones_the_docs_name() -> None:
    assert shipped_names("search_spaces", ".yaml") == ("default", "demo", "quick", "tiny")


@pytest.mark.parametrize("name", ["default", "demo", "quick", "tiny"])
def test_a_shipped_space_is_complete(name: str) -> None:
    space = load_space(name)
    assert space.description
    for point in space.load_points:
        assert find_eval_set(point.eval_set).is_file()


def test_the_demo_runs_on_the_cpu_build_and_admits_its_protocol() -> None:
    space = load_space("demo")
    assert [unavailable_reason(c, "0.32.0", "cpu") for c in candidates(space)] == [None] * len(candidates(space))
    assert space.target == "demo:target"
    assert {draft.model for draft in space.drafts} == {"demo:good", "demo:shallow", None}
    assert space.protocol.reduced.endswith(".")
    assert len(candidates(space)) + 1 <= 8, "every engine start costs the demo most of a minute"


@pytest.mark.parametrize(("name", "ks"), [("default", tuple(range(1, 9))), ("quick", (1, 3, 5, 7))])
def test_a_gpu_space_takes_draft_models_and_ngram(name: str, ks: tuple[int, ...]) -> None:
    space = load_space(name, target="t", drafts=["org/draft"])
    assert [(draft.method, draft.ks) for draft in space.drafts] == [("ngram", ks), ("draft_model", ks)]
    assert bool(space.protocol.reduced) == (name == "quick")
