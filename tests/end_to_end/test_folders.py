"""Folders with the real model that makes vectors."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from headstart.chat import folder_files
from headstart.chat.folder_index import FolderIndex, IsWanted
from headstart.library import library
from headstart.ui.folders.embedder import EngineEmbedder

TEXTS = {
    "boat.txt": "The ferry to the island departs at noon from the northern pier.",
    "garden.txt": "Tomatoes want sun, and water in the evening.",
    "numbers.txt": " ".join(str(number) for number in range(3000)),  # windows with more tokens than the model reads
}


class DirectReader:
    """Reads files in this process."""

    def read(self, path: Path, start: int, _is_wanted: IsWanted) -> Iterator[folder_files.Piece]:
        """Return the text of a file."""
        yield from folder_files.pieces(path, start)


def test_other_words_are_found(real_minilm: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    model = library.find(str(real_minilm))
    assert isinstance(model, library.Model)
    with closing(EngineEmbedder(model)) as embedder, FolderIndex(tmp_path / "history", None) as index:
        index.keep([str(folder)])
        all(index.update(str(folder), DirectReader()))
        while index.embed([str(folder)], embedder):
            pass
        state = index.state(str(folder))
        assert state.embedded == state.passages > 3
        question = "When do ships sail?"
        assert index.find([str(folder)], question) == []
        assert index.find([str(folder)], question, embedder)[0].name == "notes/boat.txt"
        assert index.find([str(folder)], f"When do ships sail? {'really ' * 2000}", embedder)
