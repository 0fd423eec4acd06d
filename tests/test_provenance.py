from pathlib import Path

from tuner.provenance import fingerprint, machine, only_hashed_otherwise, profile_identity
from tuner.records import EvalSet, Json, LoadPoint, Prompt, Protocol


def test_a_profile_is_its_content_and_a_preset_its_name(tmp_path: Path) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text("noise: {}")
    other.write_text("noise: {}")
    assert profile_identity(str(one)) == profile_identity(str(other))
    other.write_text("noise: {life_sd: 0.1}")
    assert profile_identity(str(one)) != profile_identity(str(other))
    assert (profile_identity("quiet"), profile_identity(None)) == ("quiet", None)


def test_fingerprint_changes_with_the_protocol_but_not_with_the_baseline_at_the_end() -> None:
    def of(protocol: Protocol) -> object:
        return fingerprint(
            engine={"version": "1"},
            target={"hash": "t"},
            drafts={"d": {"hash": "d"}},
            eval_sets=[EvalSet("chat", (Prompt("1", "chat", prompt="x"),), "s")],
            engine_args={},
            env={},
            load_points=[LoadPoint("chat")],
            protocol=protocol,
        )

    assert of(Protocol()) == of(Protocol(baseline_again=False))
    assert of(Protocol()) != of(Protocol(repeats=5))
    assert of(Protocol()) != of(Protocol(distribution_samples=64)) != of(Protocol(distribution_samples=32))


def test_machine_names_its_processor() -> None:
    assert machine()["cpu"]


def test_a_run_whose_models_were_only_hashed_otherwise_is_told_from_one_of_other_models() -> None:
    def of(scheme: int | None, hash_: str, size: int = 5, version: str = "1") -> dict[str, Json]:
        known: dict[str, Json] = {"hash": hash_, "of": "content", "weight_bytes": size}
        model: dict[str, Json] = known if scheme is None else {**known, "scheme": scheme}
        return {"engine": {"version": version}, "target": model, "drafts": {"good": model}}

    assert only_hashed_otherwise(of(None, "a"), of(2, "b"))
    assert not only_hashed_otherwise(of(2, "a"), of(2, "b"))
    assert not only_hashed_otherwise(of(2, "a"), of(2, "a"))
    assert not only_hashed_otherwise(of(None, "a"), of(2, "b", size=6))
    assert not only_hashed_otherwise(of(None, "a", version="2"), of(2, "b"))
    assert not only_hashed_otherwise({}, of(2, "b"))
