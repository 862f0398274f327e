"""GGUF files that chance has damaged or made up: imported, or refused in a sentence."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from gguf import GGUFValue, GGUFValueType
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import ExportError
from headstart_export import process
from headstart_export.gguf import converter, metadata, tokenizer_model
from headstart_export.sources import weights
from tests.export.gguf import tiny_gguf
from tests.support.junk import fuzz, scarred

Metadata = dict[str, GGUFValue]

_HEADS = (400, 2000)  # bytes: counts and first keys, all short keys; what lies behind are long lists and weights
_NUMBERS = {
    GGUFValueType.UINT8: (0, 2**8 - 1),
    GGUFValueType.UINT32: (0, 2**32 - 1),
    GGUFValueType.INT32: (-(2**31), 2**31 - 1),
    GGUFValueType.UINT64: (0, 2**64 - 1),
}
_SCALARS = st.one_of(
    *(
        st.builds(GGUFValue, st.sampled_from([low, 1, 2, 7, high]), st.just(kind))
        for kind, (low, high) in _NUMBERS.items()
    ),
    st.builds(GGUFValue, st.floats(width=32), st.just(GGUFValueType.FLOAT32)),
    st.builds(GGUFValue, st.booleans(), st.just(GGUFValueType.BOOL)),
    st.builds(GGUFValue, st.text("ab<|>Ġ▁ \n\x1b{%", max_size=8), st.just(GGUFValueType.STRING)),
)
_LISTS = st.one_of(
    st.lists(st.text("ab<|>Ġ▁ ", max_size=4), min_size=1, max_size=700),
    st.lists(st.integers(0, 7), min_size=1, max_size=700),
)
VALUES = _SCALARS | st.builds(GGUFValue, _LISTS, st.just(GGUFValueType.ARRAY))


def convert(path: str, folder: str) -> str | None:
    """Import a file that was inspected before. Return the refusal."""
    try:
        tokenizer_model.build(metadata.read(Path(path)), Path(path).name)
        converter.inspect(Path(path))
        converter.convert(Path(path), Path(folder), "gguf")
    except ExportError as error:
        return str(error)
    return None


def refusal(path: Path) -> str | None:
    """Import a file. Return the refusal; a crash of the child is an ExportError."""
    try:
        weights.inspect(path, code=False)
    except ExportError as error:
        return str(error)
    with tempfile.TemporaryDirectory() as folder:
        sentence: str | None = process.call(
            convert, minutes=1, memory=4 << 30, failure="{reason}", path=str(path), folder=folder
        )
    return sentence


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for a file. Temporary files go to another one, which must be empty at the end."""
    temporary, folder = tmp_path / "temporary", tmp_path / "folder"
    temporary.mkdir()
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield folder
    assert list(temporary.iterdir()) == []


def require_sentence(sentence: str | None, name: str) -> None:
    assert sentence is None or (name in sentence and sentence.isprintable() and len(sentence) < 700), sentence


@fuzz("damaged GGUF files", 10)
@given(st.data())
def test_any_damaged_file_is_imported_or_refused(tiny_gguf_file: Path, place: Path, data: st.DataObject) -> None:
    content = tiny_gguf_file.read_bytes()
    head = data.draw(st.sampled_from([*_HEADS, len(content)]))
    file = place / "damaged.gguf"
    scarred_head = data.draw(scarred(content[:head]))
    file.write_bytes(scarred_head + content[head:])
    require_sentence(refusal(file), file.name)
    file.unlink()
    assert list(place.iterdir()) == []


@fuzz("made-up GGUF files", 10)
@given(st.data())
def test_any_made_up_file_is_imported_or_refused(tiny_source: Path, place: Path, data: st.DataObject) -> None:
    def edit(metadata: Metadata) -> None:
        for key in data.draw(st.lists(st.sampled_from(sorted(metadata)), min_size=1, max_size=3, unique=True)):
            if data.draw(st.booleans()):
                metadata[key] = data.draw(VALUES)
            elif data.draw(st.booleans()):
                del metadata[key]

    file = place / "made-up.gguf"
    tiny_gguf.write(tiny_source, file, edit, tensors=data.draw(st.sampled_from([0, 0, 10])))
    parts = sorted(place.iterdir())
    sentence = refusal(parts[-1])
    require_sentence(sentence, "made-up")
    shutil.rmtree(place)
    place.mkdir()
