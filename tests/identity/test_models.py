"""What the identity of a model sees, what it does not see, and its cache."""

from __future__ import annotations

import json
import os
import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import ModelError
from tuner.identity import cache, content, model_identity, models


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "SETTLED_S", 0.0)
    return tmp_path / "cache" / "identity"


def safetensors(size: int, fill: bytes = b"\0", **more: object) -> bytes:
    header = json.dumps({"w": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}, **more}).encode()
    return struct.pack("<Q", len(header)) + header + fill * size


def write_model(directory: Path, weights: bytes | None = None) -> Path:
    directory.mkdir(parents=True)
    (directory / "config.json").write_text('{"vocab_size": 4}')
    (directory / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}}')
    (directory / "generation_config.json").write_text('{"temperature": 0.6}')
    (directory / "model.safetensors").write_bytes(safetensors(1_000_000) if weights is None else weights)
    return directory


def identity(model: Path) -> dict[str, object]:
    return dict(model_identity("x", str(model)))


def test_a_copy_elsewhere_is_the_same_model(tmp_path: Path) -> None:
    original = write_model(tmp_path / "a")
    copy = shutil.copytree(original, tmp_path / "b" / "c", copy_function=shutil.copyfile)
    assert identity(original) == identity(copy)
    assert identity(original)["weight_bytes"] == (original / "model.safetensors").stat().st_size


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("config.json", "config"),
        ("modeling_custom.py", "config"),
        ("hf_quant_config.json", "config"),
        ("tokenizer.json", "tokenizer"),
        ("chat_template.jinja", "tokenizer"),
        ("qwen.tiktoken", "tokenizer"),
        ("generation_config.json", "generation"),
        ("model-00002.safetensors", "weights"),
        ("model.safetensors.index.json", "weights"),
        ("model.gguf", "weights"),
    ],
)
def test_a_changed_file_changes_its_part_and_no_other(tmp_path: Path, name: str, part: str) -> None:
    model = write_model(tmp_path / "a")
    (model / name).write_bytes(b"one thing, and long enough")
    before = identity(model)
    flip(model / name, 5)
    after = identity(model)
    assert after["hash"] != before["hash"]
    assert isinstance(before["parts"], dict) and isinstance(after["parts"], dict)
    assert [one for one in before["parts"] if before["parts"][one] != after["parts"][one]] == [part]


@pytest.mark.parametrize("name", ["README.md", "LICENSE.txt", "picture.png", "training_args.bin", "optimizer.pt"])
def test_files_that_no_engine_reads_change_nothing(tmp_path: Path, name: str) -> None:
    model = write_model(tmp_path / "a")
    before = identity(model)
    (model / name).write_text("something")
    assert identity(model) == before


def test_any_bit_of_a_header_is_seen(tmp_path: Path) -> None:
    model = write_model(tmp_path / "a")
    weights = model / "model.safetensors"
    seen = {identity(model)["hash"]}
    length = 8 + struct.unpack("<Q", weights.read_bytes()[:8])[0]
    for at in range(length):
        flip(weights, at)
        seen.add(identity(model)["hash"])
        flip(weights, at)
    assert len(seen) == 1 + length


def test_a_header_longer_than_the_first_block_is_seen_to_its_end(tmp_path: Path) -> None:
    more: dict[str, object] = {
        f"layer.{index}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for index in range(3000)
    }
    model = write_model(tmp_path / "a", safetensors(50_000_000, b"\0", **more))
    before = identity(model)
    length = struct.unpack("<Q", (model / "model.safetensors").read_bytes()[:8])[0]
    flip(model / "model.safetensors", 8 + length - 30_000)
    assert identity(model)["hash"] != before["hash"]


def test_a_shard_that_grows_or_shrinks_by_a_byte_is_seen(tmp_path: Path) -> None:
    model = write_model(tmp_path / "a")
    weights = model / "model.safetensors"
    data = weights.read_bytes()
    hashes = set()
    for changed in (data, data + b"\0", data[:-1]):
        weights.write_bytes(changed)
        hashes.add(identity(model)["hash"])
    assert len(hashes) == 3


def test_a_shard_under_another_name_is_seen(tmp_path: Path) -> None:
    model = write_model(tmp_path / "a")
    before = identity(model)
    (model / "model.safetensors").rename(model / "other.safetensors")
    assert identity(model)["hash"] != before["hash"]


def test_a_fine_tune_of_the_same_shapes_is_another_model_and_a_small_edit_is_not_seen(tmp_path: Path) -> None:
    plain = write_model(tmp_path / "a", safetensors(10_000_000))
    tuned = write_model(tmp_path / "b", safetensors(10_000_000, b"\1"))
    assert identity(plain)["hash"] != identity(tuned)["hash"]
    before = identity(plain)
    # What the docstring says is not seen: a byte between two blocks.
    flip(plain / "model.safetensors", 10_000_000 // 63 - 5000)
    assert identity(plain)["hash"] == before["hash"]
    # The last byte is in a block.
    flip(plain / "model.safetensors", (plain / "model.safetensors").stat().st_size - 1)
    assert identity(plain)["hash"] != before["hash"]


def test_a_weight_file_shorter_than_its_header_stops_nothing(tmp_path: Path) -> None:
    assert identity(write_model(tmp_path / "a", b"\1\2\3"))["weight_bytes"] == 3
    assert identity(write_model(tmp_path / "b", struct.pack("<Q", 2**60) + b"{}"))["weight_bytes"] == 10


def test_a_model_may_be_one_file(tmp_path: Path) -> None:
    gguf = tmp_path / "model.gguf"
    gguf.write_bytes(b"GGUF" + b"\0" * 1_000_000)
    before = identity(gguf)
    assert before["of"] == "content"
    flip(gguf, 1)
    assert identity(gguf)["hash"] != before["hash"]


def test_a_name_without_files_is_identified_by_the_name(tmp_path: Path) -> None:
    named = model_identity("org/model", "org/model")
    assert named["of"] == "name"
    assert named["hash"] != model_identity("org/other", "org/other")["hash"]
    (tmp_path / "not-a-model.txt").write_text("x")
    assert identity(tmp_path / "not-a-model.txt")["of"] == "name"


def test_an_unreadable_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(files: object) -> content.Content:
        raise PermissionError(13, "Permission denied", "/m/model.safetensors")

    model = write_model(tmp_path / "a")
    monkeypatch.setattr(models, "content", refuse)
    with pytest.raises(ModelError, match=r"/m/model.safetensors cannot be read: Permission denied"):
        identity(model)


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []

    def counted(files: tuple[content.ModelFile, ...]) -> content.Content:
        calls.append(len(files))
        return content.content(files)

    monkeypatch.setattr(models, "content", counted)
    return calls


def test_it_is_worked_out_once_and_again_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counting(monkeypatch)
    model = write_model(tmp_path / "a")
    link = tmp_path / "link"
    link.symlink_to(model)
    assert identity(model) == identity(model) == identity(link)
    assert len(calls) == 1
    (model / "config.json").write_text('{"vocab_size": 5}')
    assert identity(model) == identity(model)
    assert len(calls) == 2


def test_a_write_in_place_is_seen_even_where_size_and_time_are_put_back(tmp_path: Path) -> None:
    model = write_model(tmp_path / "a")
    before, stat = identity(model), (model / "model.safetensors").stat()
    flip(model / "model.safetensors", 20)
    os.utime(model / "model.safetensors", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (model / "model.safetensors").stat().st_mtime_ns == stat.st_mtime_ns
    assert identity(model)["hash"] != before["hash"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"checksum": 1}', b"\xff\xfe", b"[" * 10_000])
def test_a_damaged_cache_is_ignored_and_replaced(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    calls = counting(monkeypatch)
    model = write_model(tmp_path / "a")
    right = identity(model)
    (kept,) = own_cache.iterdir()
    kept.write_bytes(damage)
    assert identity(model) == identity(model) == right
    assert len(calls) == 2


def test_an_edited_cache_is_not_believed(tmp_path: Path, own_cache: Path) -> None:
    model = write_model(tmp_path / "a")
    right = identity(model)
    (kept,) = own_cache.iterdir()
    kept.write_text(kept.read_text().replace(str(right["hash"]), "0" * 64))
    assert identity(model) == right


def test_files_that_were_just_written_are_not_cached(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "SETTLED_S", 3600.0)
    identity(write_model(tmp_path / "a"))
    assert not own_cache.exists()


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TUNER_CACHE", str(tmp_path / "file"))
    model = write_model(tmp_path / "a")
    assert identity(model) == identity(model)


@given(size=st.integers(0, 3_000_000))
def test_blocks_cover_the_first_and_the_last_byte_and_stay_inside(size: int) -> None:
    starts = list(content._block_starts(size))
    assert len(starts) <= content.BLOCKS
    if size:
        assert starts[0] == 0
        assert max(starts) < size <= max(starts) + content.BLOCK_BYTES


def test_what_moves_from_one_file_into_another_is_seen(tmp_path: Path) -> None:
    one, other = write_model(tmp_path / "a"), write_model(tmp_path / "b")
    (one / "a.py").write_text("b.py")
    (other / "a.py").write_text("")
    (other / "b.py").write_text("")
    assert identity(one)["hash"] != identity(other)["hash"]


def test_a_single_file_behind_a_link_is_the_file(tmp_path: Path) -> None:
    for name in ("blob", "copy/model.gguf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"GGUF" + b"\0" * 1000)
    (tmp_path / "model.gguf").symlink_to(tmp_path / "blob")
    assert identity(tmp_path / "model.gguf") == identity(tmp_path / "copy" / "model.gguf")
