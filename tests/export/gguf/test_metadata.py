"""GGUF files: read quickly and right, their tokenizers rebuilt faithfully, damaged ones refused."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, pre_tokenizers

from headstart.errors import ExportError
from headstart_export.gguf import metadata, tokenizer_model
from headstart_export.gguf.tokenizer_model import SPLITTINGS
from tests.end_to_end import foreign_servers
from tests.export.conftest import DATA
from tests.export.gguf import llama_tokens
from tests.export.gguf.tiny_gguf import write_tokenizer

SEPARATOR = "\n__ggml_vocab_test__\n"
PROBES = (
    "Hello  world,\n\n  it's 12345!\t",
    "Größe, naïveté, Привет, 你好世界, こんにちは, 🙂🚀",
    "'LL don't 'Ve\r\n x=1;;; \u00a0 end  ",
)


def vectors(name: str) -> list[tuple[str, list[int]]]:
    """Return llama.cpp's texts with the ids of the model's own tokenizer."""
    texts = (DATA / "ggml-vocab.inp").read_bytes().decode().split(SEPARATOR)
    lines = (DATA / f"ggml-vocab-{name}.out").read_text(encoding="utf-8").splitlines()
    return [(text, [int(index) for index in line.split()]) for text, line in zip(texts, lines, strict=False)]


def rebuild(path: Path) -> Tokenizer:
    """Return the tokenizer without transformers' wrapper, whose import would take seconds."""
    tokenizer = tokenizer_model.build(metadata.read(path), path.name)
    assert isinstance(tokenizer, Tokenizer)
    return tokenizer


def refusal(path: Path) -> str | None:
    """Return the sentence that refuses a file; None if it is accepted."""
    try:
        metadata.probe(path)
    except ExportError as error:
        return str(error)
    return None


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_source: Path) -> dict[str, Any]:
    """The content of the tiny models' `tokenizer.json`."""
    data: dict[str, Any] = json.loads((tiny_source / "tokenizer.json").read_text(encoding="utf-8"))
    return data


@pytest.fixture
def make_gguf(tmp_path: Path, tiny_tokenizer: dict[str, Any]) -> Callable[..., Path]:
    """A function that writes a GGUF file with the tiny tokenizer and no weights."""

    def make(splitting: str = "gpt-2", rows: int = 1200, *, bos: bool = False) -> Path:
        path = tmp_path / f"{splitting}.gguf"
        import gguf  # noqa: PLC0415

        writer = gguf.GGUFWriter(path, "llama")
        write_tokenizer(writer, tiny_tokenizer, rows, splitting)
        if bos:
            writer.kv_data[0].pop("tokenizer.ggml.add_bos_token")
            writer.add_bos_token_id(1)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return path

    return make


def test_gpt2_ids_equal_those_of_its_tokenizer(gpt2_vocabulary: Path) -> None:
    tokenizer = rebuild(gpt2_vocabulary)
    cases = vectors("gpt-2")
    assert len(cases) == 46
    for text, expected in cases:
        assert tokenizer.encode(text).ids == expected, text
        assert tokenizer.decode(expected) == text


def test_phi_3_ids_equal_those_of_its_sentencepiece(phi3_vocabulary: Path) -> None:
    tokenizer = rebuild(phi3_vocabulary)
    cases = vectors("phi-3")
    assert len(cases) == 46
    for text, expected in cases:
        assert tokenizer.encode(text, add_special_tokens=False).ids == expected, text
        assert tokenizer.decode(expected) == text
    assert tokenizer.encode("hi").ids == [1, *tokenizer.encode("hi", add_special_tokens=False).ids]
    behind = tokenizer.encode("<|end|>\nhi", add_special_tokens=False)
    assert behind.tokens == ["<|end|>", "▁", "<0x0A>", "hi"]  # as llama.cpp has it
    assert "[PAD32011]" not in tokenizer.get_vocab()  # a padding row


def test_sentencepiece_without_a_leading_space(phi3_vocabulary: Path) -> None:
    reader = metadata.read(phi3_vocabulary)
    tokens, kinds = (metadata.value(reader, f"tokenizer.ggml.{key}") for key in ("tokens", "token_type"))
    tokens[259], kinds[259] = "  ", metadata.USER_DEFINED  # as Gemma has it, found before any piece of a higher score
    reader.arrays["tokenizer.ggml.add_space_prefix"] = False
    tokenizer = tokenizer_model.build(reader, "x.gguf")
    assert tokenizer.encode("  the", add_special_tokens=False).tokens == ["▁▁", "the"]
    assert tokenizer.decode(tokenizer.encode("  the").ids) == "  the"


FREQUENCIES = """
import json, pathlib, sys
from headstart_export import process
from headstart_export.conversion import convert
process.prepare()
print(json.dumps(convert.load_gguf(pathlib.Path(sys.argv[1])).model.rotary_emb.inv_freq.tolist()))
"""


@pytest.mark.slow
def test_rope_scaling_is_read(phi3_vocabulary: Path, tmp_path: Path) -> None:
    llama_tokens.write_model(phi3_vocabulary, tmp_path / "x.gguf")
    command = [sys.executable, "-c", FREQUENCIES, str(tmp_path / "x.gguf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    plain = [10000 ** (-place / 16) for place in range(16)]
    assert json.loads(done.stdout) == pytest.approx([*plain[:8], *(turns / 4 for turns in plain[8:])], rel=1e-5)


@pytest.mark.slow
def test_sentencepiece_reads_2000_texts_as_llama_cpp(phi3_vocabulary: Path) -> None:
    if reason := foreign_servers.missing(foreign_servers.LLAMA, phi3_vocabulary):
        pytest.skip(reason)
    assert llama_tokens.differences(phi3_vocabulary, 2000) == []


def test_qwen_ids_equal_those_of_its_tokenizer(real_pair: Path) -> None:
    for role in ("target", "draft"):
        tokenizer = Tokenizer.from_file(str(real_pair / role / "tokenizer.json"))
        for text, expected in vectors("qwen2"):
            assert tokenizer.encode(text).ids == expected, text
            assert tokenizer.decode(expected) == text
        for marker in ("<|fim_prefix|>", "<|fim_middle|>", "<tool_call>", "<|im_start|>", "<|repo_name|>"):
            assert len(tokenizer.encode(marker).ids) == 1


def test_tiny_tokenizer_is_read_back(make_gguf: Callable[..., Path], tiny_source: Path) -> None:
    original, rebuilt = Tokenizer.from_file(str(tiny_source / "tokenizer.json")), rebuild(make_gguf())
    assert rebuilt.get_vocab() == original.get_vocab()
    for text in (*PROBES, "<|im_start|>user\nhi<|im_end|>\n"):
        assert rebuilt.encode(text).ids == original.encode(text).ids
        assert rebuilt.decode(rebuilt.encode(text).ids, skip_special_tokens=False) == text


# Children of the process get it by PYTHONPATH.
LEAN = """
import sys
sys.modules.update(dict.fromkeys(("torch", "optimum", "nncf", "accelerate")))
"""
PROVE_TOKENIZER = """
import sys
from pathlib import Path
from headstart_export.checks import tokenizer_proof
from headstart_export.conversion import convert
from headstart_export.gguf import tokenizer_model
from headstart_export.pipeline import build
assert sys.modules["torch"] is None
source, folder = map(Path, sys.argv[1:])
tokenizer = tokenizer_model.rebuild(source)
chat = tokenizer_proof.render(tokenizer)
convert.convert_tokenizer(tokenizer, folder)
print(tokenizer_proof.prove(folder, folder, tokenizer, chat), chat.tail.strip())
"""


@pytest.mark.slow
def test_tokenizer_is_converted_and_proven_without_torch(tiny_gguf_file: Path, tmp_path: Path) -> None:
    (tmp_path / "lean").mkdir()
    (tmp_path / "lean" / "sitecustomize.py").write_text(LEAN, encoding="utf-8")
    places = [str(tmp_path / "lean"), *(place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place)]
    done = subprocess.run(
        [sys.executable, "-c", PROVE_TOKENIZER, str(tiny_gguf_file), str(tmp_path / "converted")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    texts, tail = done.stdout.split()
    assert int(texts) > 70_000
    assert tail == "<|im_end|>"


@pytest.mark.parametrize("splitting", sorted(SPLITTINGS))
def test_every_pre_tokenizer_is_read_back(make_gguf: Callable[..., Path], splitting: str) -> None:
    tokenizer = rebuild(make_gguf(splitting))
    for text in PROBES:
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_smollm_pre_tokenizer_equals_its_file() -> None:
    ours = tokenizer_model.pre_tokenizer(SPLITTINGS["smollm"])
    parts = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    theirs = pre_tokenizers.Sequence(parts)
    for text in (*PROBES, "a1b22 333, 4.5e6 -7 ²½"):
        assert [piece for piece, _ in ours.pre_tokenize_str(text)] == [
            piece for piece, _ in theirs.pre_tokenize_str(text)
        ]


def test_padding_rows_are_no_tokens(make_gguf: Callable[..., Path]) -> None:
    assert rebuild(make_gguf(rows=1200)).get_vocab_size() == 600


def test_bos_token_is_added_where_the_file_asks(make_gguf: Callable[..., Path]) -> None:
    assert rebuild(make_gguf("llama-bpe")).encode("x").ids == rebuild(make_gguf("gpt-2")).encode("x").ids
    assert rebuild(make_gguf("llama-bpe", bos=True)).encode("x").ids[0] == 1
    assert rebuild(make_gguf("smaug-bpe", bos=True)).encode("x").ids[0] != 1  # SmolLM3's
    assert rebuild(make_gguf("qwen2", bos=True)).encode("x").ids[0] != 1


def test_unknown_pre_tokenizer_or_kind_is_refused(make_gguf: Callable[..., Path]) -> None:
    with pytest.raises(ExportError, match=r"splits its text by the rule 'martian', which is not known here; known are"):
        rebuild(make_gguf("martian"))
    with pytest.raises(ExportError, match=r"x\.gguf has a tokenizer of the kind 'bert', which cannot be rebuilt"):
        tokenizer_model.require_supported("bert", "default", "x.gguf")


@pytest.mark.parametrize("merge", ["a no-such-token", "a", "Ġ Ġ Ġ"])
def test_merge_of_unknown_tokens_is_refused(tiny_gguf_file: Path, merge: str) -> None:
    reader = metadata.read(tiny_gguf_file)
    reader.arrays["tokenizer.ggml.merges"] = [*metadata.value(reader, "tokenizer.ggml.merges"), merge]
    with pytest.raises(ExportError, match=rf"x\.gguf merges '{merge}', but its vocabulary does not hold that"):
        tokenizer_model.build(reader, "x.gguf")


def test_quick_reader_equals_the_library(make_gguf: Callable[..., Path]) -> None:
    from gguf import GGUFReader  # noqa: PLC0415

    path = make_gguf()
    quick, slow = metadata.read(path), GGUFReader(path)
    assert set(quick.arrays) == {"tokenizer.ggml.tokens", "tokenizer.ggml.token_type"}
    assert list(quick.fields) == list(slow.fields)
    for name, field in slow.fields.items():
        assert metadata.value(quick, name) == field.contents()
    assert metadata.value(quick, "no.such", "default") == "default"


def test_probe_reports_the_metadata(tiny_gguf_file: Path) -> None:
    facts = metadata.probe(tiny_gguf_file)
    assert facts.pop("parameters") > 640 * 64
    assert facts == {
        "architecture": "qwen2",
        "name": "tiny",
        "licence": "apache-2.0",
        "tokenizer": "gpt2",
        "splitting": "gpt-2",
        "sampling": {},
        "notes": [],
        "stretched": False,
        "ends": [2],
    }


@pytest.mark.parametrize("share", [0.0, 0.0005, 0.01, 0.05, 0.3, 0.9, 0.9999])
def test_truncated_file_is_refused(tiny_gguf_file: Path, tmp_path: Path, share: float) -> None:
    content = tiny_gguf_file.read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ExportError, match=r"cut\.gguf is not a GGUF file that can be used: .+\. Fetch it again\."):
        metadata.probe(cut)
    if share >= 0.9:  # within the weights
        with pytest.raises(ExportError, match=rf"it ends at byte {cut.stat().st_size}, but should go on to byte"):
            metadata.probe(cut)


@pytest.mark.parametrize("place", [4, 8, 16, 24, 33, 60, 90])
def test_flipped_byte_in_the_header_is_refused_or_read(tiny_gguf_file: Path, tmp_path: Path, place: int) -> None:
    content = bytearray(tiny_gguf_file.read_bytes())
    content[place] ^= 0xFF
    flipped = tmp_path / "flipped.gguf"
    flipped.write_bytes(content)
    found = refusal(flipped)
    assert found is None or "is not a GGUF file that can be used" in found


def test_other_file_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"PK\x03\x04 no model")
    with pytest.raises(ExportError, match="it does not begin with the letters GGUF"):
        metadata.probe(other)
