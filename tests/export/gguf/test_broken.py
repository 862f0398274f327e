"""GGUF files that are hostile, newer than the library, or one of several: read, or refused in a sentence."""

import os
import struct
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFValue, GGUFValueType

from headstart.errors import ExportError
from headstart_export import process
from headstart_export.gguf import converter, metadata, tokenizer_model
from headstart_export.sources import weights
from tests.export.gguf import tiny_gguf

Make = Callable[..., Path]
TEXT, NUMBER = GGUFValueType.STRING, GGUFValueType.UINT32


@pytest.fixture
def make_gguf(tiny_source: Path, tmp_path: Path) -> Make:
    """A function that writes the tiny model with other values of some keys; None removes a key."""

    def make(changes: Mapping[str, GGUFValue | None] | None = None, *, tensors: int = 0) -> Path:
        def edit(metadata: dict[str, Any]) -> None:
            metadata.update(changes or {})
            for key in [key for key, value in metadata.items() if value is None]:
                del metadata[key]

        path = tmp_path / "tiny.gguf"
        tiny_gguf.write(tiny_source, path, edit, tensors)
        return path

    return make


def refusal(path: Path) -> str:
    with pytest.raises(ExportError) as caught:
        weights.inspect(path, code=False)
    return str(caught.value)


def patched(path: Path, find: bytes, replacement: bytes) -> Path:
    """Overwrite the file from the first occurrence of `find` with `replacement`, and return it."""
    content = path.read_bytes()
    place = content.index(find)
    path.write_bytes(content[:place] + replacement + content[place + len(replacement) :])
    return path


@pytest.mark.parametrize(
    ("mark", "index"),
    [(mark, 999_999) for mark in ("eos", "eot", "eom", "bos", "padding", "unknown")]
    + [("eos", index) for index in (640, -2, "7", 7.5, True)],
)
def test_token_outside_the_vocabulary_is_refused(make_gguf: Make, mark: str, index: object) -> None:
    kinds = {int: GGUFValueType.INT64, str: TEXT, float: GGUFValueType.FLOAT32, bool: GGUFValueType.BOOL}
    path = make_gguf({f"tokenizer.ggml.{mark}_token_id": GGUFValue(index, kinds[type(index)])})
    assert refusal(path) == (
        f"tiny.gguf says that tokenizer.ggml.{mark}_token_id is {index}, but its vocabulary has no such token; take "
        "another file of the model."
    )


@pytest.mark.parametrize("index", [-1, 2**32 - 1])
def test_token_that_stands_for_none_is_none(make_gguf: Make, index: int) -> None:
    reader = metadata.read(make_gguf({"tokenizer.ggml.eos_token_id": GGUFValue(index, GGUFValueType.INT64)}))
    assert metadata.ends(reader) == []
    assert tokenizer_model.token(reader, "eos") is None


def test_ends_of_turns_and_messages_end_answers_too(make_gguf: Make) -> None:
    path = make_gguf(
        {f"tokenizer.ggml.{mark}_token_id": GGUFValue(at, NUMBER) for mark, at in (("eot", 1), ("eom", 2))}
    )
    assert weights.inspect(path, code=False).ends == (2, 1)  # eos, eot; eom is the same as eos


def test_ordinary_word_does_not_become_a_mark(make_gguf: Make) -> None:
    assert tokenizer_model.token(metadata.read(make_gguf()), "eos") == "<|im_end|>"
    reader = metadata.read(make_gguf({"tokenizer.ggml.eos_token_id": GGUFValue(500, NUMBER)}))
    assert tokenizer_model.token(reader, "eos") is None
    assert metadata.ends(reader) == [500]


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("tokens", GGUFValue("a", TEXT), "its tokenizer.ggml.tokens is no list of texts"),
        ("tokens", None, "its tokenizer.ggml.tokens is no list of texts"),
        (
            "token_type",
            GGUFValue([1, 1], GGUFValueType.ARRAY),
            "has 640 tokens, and tokenizer.ggml.token_type 2 entries",
        ),
        ("tokens", GGUFValue(list(map(str, range(641))), GGUFValueType.ARRAY), "has 641 tokens"),
        ("token_type", GGUFValue(["a"], GGUFValueType.ARRAY), "its tokenizer.ggml.token_type is no list of numbers"),
        ("merges", None, "its tokenizer.ggml.merges is no list of texts"),
        ("merges", GGUFValue([1, 2], GGUFValueType.ARRAY), "its tokenizer.ggml.merges is no list of texts"),
        ("pre", GGUFValue(3, NUMBER), "its tokenizer.ggml.pre is no text"),
    ],
)
def test_vocabulary_that_does_not_hold_together_is_refused(
    make_gguf: Make, key: str, value: GGUFValue | None, sentence: str
) -> None:
    assert sentence in refusal(make_gguf({f"tokenizer.ggml.{key}": value}))


def test_metadata_of_another_kind_is_refused(make_gguf: Make) -> None:
    assert "its general.architecture is no text" in refusal(make_gguf({"general.architecture": GGUFValue(1, NUMBER)}))
    assert "its tokenizer.chat_template is no text" in refusal(
        make_gguf({"tokenizer.chat_template": GGUFValue(1, NUMBER)})
    )


def test_text_that_is_no_utf_8_is_refused(make_gguf: Make) -> None:
    path = patched(make_gguf(), b"qwen2", b"qw\xff\xff2")
    assert "tiny.gguf is not a GGUF file that can be used: 'utf-8' codec can't decode" in refusal(path)
    with pytest.raises(ExportError, match=r"tiny\.gguf is not a GGUF file that can be used"):
        converter.inspect(path)


def test_texts_that_move_the_cursor_are_not_shown(make_gguf: Make) -> None:
    path = make_gguf({"general.name": GGUFValue("\x1b[2Jname", TEXT), "general.license": GGUFValue(1, NUMBER)})
    facts = metadata.probe(path)
    assert (facts["name"], facts["licence"]) == ("[2Jname", None)
    for kind in ("\x1b[2J", "a" * 5000):
        assert refusal(make_gguf({"general.architecture": GGUFValue(kind, TEXT)})).endswith(
            "its general.architecture is no name. Fetch it again."
        )
    renamed = patched(make_gguf(), b"blk.0.attn_k.bias", b"blk.0.\x1b[2J.k.bias")
    renamed = patched(renamed, b"blk.0.attn_q.bias", b"blk.0.\x1b[2J.k.bias")
    assert "with name blk.0.[2J.k.bias. Fetch it again." in refusal(renamed)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("attention.head_count", GGUFValue(value=True, type=GGUFValueType.BOOL)),
        ("attention.layer_norm_rms_epsilon", GGUFValue([1, 2], GGUFValueType.ARRAY)),
        ("rope.freq_base", GGUFValue(0.0, GGUFValueType.FLOAT32)),
        ("rope.freq_base", GGUFValue(float("inf"), GGUFValueType.FLOAT32)),
        ("block_count", GGUFValue("\x1b", TEXT)),
    ],
)
def test_measure_that_is_no_number_is_refused(make_gguf: Make, key: str, value: GGUFValue) -> None:
    with pytest.raises(ExportError, match=rf"tiny\.gguf cannot be converted: its qwen2\.{key} is [^\x1b]*\.$"):
        converter.inspect(make_gguf({f"qwen2.{key}": value}))


def test_lists_of_lists_are_refused(tiny_gguf_file: Path, tmp_path: Path) -> None:
    content = tiny_gguf_file.read_bytes()
    key = b"deep"
    array = struct.pack("<IQ", 9, 1) * 5000 + struct.pack("<IQ", 0, 0)
    field = struct.pack("<Q", len(key)) + key + struct.pack("<I", 9) + array
    tensors, count = struct.unpack_from("<QQ", content, 8)
    deep = tmp_path / "deep.gguf"
    deep.write_bytes(content[:8] + struct.pack("<QQ", tensors, count + 1) + field + content[24:])
    assert "it holds lists of lists" in refusal(deep)


def test_newer_type_of_weights_is_named(make_gguf: Make) -> None:
    name = b"output_norm.weight"
    head = name + struct.pack("<IQ", 1, 64)
    path = patched(make_gguf(), head + struct.pack("<I", 0), head + struct.pack("<I", 77))
    assert refusal(path) == (
        "tiny.gguf holds weights of type 77, which this version of Headstart does not know; update Headstart, or take "
        "a Q4_K_M file."
    )


def test_newer_version_of_the_format_is_named(make_gguf: Make) -> None:
    path = patched(make_gguf(), b"GGUF\x03", b"GGUF\x04")
    assert refusal(path) == (
        "tiny.gguf is a GGUF file of version 4, which this version of Headstart does not know; update Headstart, or "
        "take a file of version 3."
    )


def test_other_byte_order_is_named(make_gguf: Make) -> None:
    path = patched(make_gguf(), b"GGUF\x03\0\0\0", b"GGUF\0\0\0\x03")
    assert "it was written for computers with the other byte order" in refusal(path)


def test_tensors_on_top_of_each_other_are_refused(make_gguf: Make) -> None:
    path = make_gguf()
    tensors = metadata.read(path).tensors
    largest = max(tensors, key=lambda tensor: tensor.n_bytes)
    content = bytearray(path.read_bytes())
    for tensor in tensors:  # all have the place and the shape of the largest
        if len(tensor.shape) == len(largest.shape):
            for part in (3, 5):
                place = tensor.field.offset + sum(each.nbytes for each in tensor.field.parts[:part])
                new = largest.field.parts[part].tobytes()
                content[place : place + len(new)] = new
    path.write_bytes(content)
    assert "its tensors lie on top of each other" in refusal(path)


def test_split_model_is_read_by_any_part(make_gguf: Make, tiny_gguf_file: Path) -> None:
    path = make_gguf(tensors=10)
    path.unlink(missing_ok=True)
    parts = sorted(path.parent.glob("*.gguf"))
    assert [part.name for part in parts] == [
        "tiny-00001-of-00003.gguf",
        "tiny-00002-of-00003.gguf",
        "tiny-00003-of-00003.gguf",
    ]
    whole = {tensor.name: tensor.data.tobytes() for tensor in metadata.read(tiny_gguf_file).tensors}
    for part in parts:
        reader = metadata.read(part)
        assert {tensor.name: tensor.data.tobytes() for tensor in reader.tensors} == whole
        assert metadata.value(reader, "general.architecture") == "qwen2"
        assert metadata.probe(part) == metadata.probe(tiny_gguf_file)


def test_missing_part_is_named(make_gguf: Make) -> None:
    path = make_gguf(tensors=10)
    path.with_name("tiny-00002-of-00003.gguf").unlink()
    assert refusal(path.with_name("tiny-00003-of-00003.gguf")) == (
        "tiny-00003-of-00003.gguf is one of 3 parts of a model, and tiny-00002-of-00003.gguf is not beside it; put all "
        "parts into one folder."
    )


def test_part_under_another_name_is_refused(make_gguf: Make) -> None:
    first, second = (make_gguf(tensors=10).with_name(f"tiny-0000{number}-of-00003.gguf") for number in (1, 2))
    alone = first.with_name("alone.gguf")
    alone.write_bytes(second.read_bytes())
    assert refusal(alone) == (
        "alone.gguf is one of 3 parts of a model, but its name does not say so; the names of the parts must end in "
        "-00001-of-00003.gguf and so on."
    )
    first.write_bytes(second.read_bytes())
    assert "tiny-00001-of-00003.gguf is not a GGUF file that can be used: it is not part 1 of 3" in refusal(first)


def test_parts_of_two_models_are_refused(make_gguf: Make) -> None:
    second = make_gguf(tensors=10).with_name("tiny-00002-of-00003.gguf")
    third = second.with_name("tiny-00003-of-00003.gguf")
    content = third.read_bytes()
    third.write_bytes(content.replace(b"blk.", b"blx."))
    assert metadata.read(second)  # as far as names tell, they fit
    third.write_bytes(second.read_bytes().replace(b"split.no\x02\0\0\0\x01", b"split.no\x02\0\0\0\x02"))
    assert "its parts do not belong together" in refusal(second)


def test_model_is_named_without_the_number_of_its_part() -> None:
    assert metadata.title(Path("/a/Big-Model-00002-of-00012.gguf")) == "Big-Model"
    assert metadata.title(Path("/a/model.Q4_K_M.gguf")) == "model.Q4_K_M"


def allocate(size: int) -> int:
    return len(bytes(size))


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def end() -> None:
    os._exit(7)


LIMITS: dict[str, Any] = {"failure": "It failed ({reason}).", "minutes": 1}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits what a process allocates")
def test_memory_of_a_child_is_limited() -> None:
    assert process.call(allocate, size=50 << 20, memory=500 << 20, **LIMITS) == 50 << 20
    with pytest.raises(ExportError, match=r"It failed \(MemoryError\)"):
        process.call(allocate, size=1 << 30, memory=500 << 20, **LIMITS)


def test_time_of_a_child_is_limited() -> None:
    with pytest.raises(ExportError, match=r"It failed \(it took more than 0\.01 min\)"):
        process.call(sleep, seconds=60, **LIMITS | {"minutes": 0.01})


def test_crash_of_a_child_is_a_sentence() -> None:
    with pytest.raises(ExportError, match=r"It failed \(status 7\)"):
        process.call(end, **LIMITS)


@pytest.mark.skipif(sys.platform == "win32", reason="a script replaces the program")
def test_child_of_a_frozen_program_is_the_program_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "headstart-export"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headstart_export "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "headstart"))
    assert process.call(allocate, size=5, **LIMITS) == 5
