"""Folders with the real model that makes vectors."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from headstart.chat.folders import folder_files
from headstart.chat.folders.folder_index import FolderIndex, IsWanted
from headstart.library import library
from headstart.ui.folders.embedder import EngineEmbedder

LANGUAGES = {
    "faehre.txt": "Die Fähre zur Insel legt um zwölf Uhr mittags an der Nordmole ab.",
    "garten.txt": "Tomaten brauchen Sonne und am Abend Wasser.",
    "渡船.txt": "每天中午十二点，渡船从北码头开往小岛。",
    "果园.txt": "苹果树要在冬天修剪，春天施肥。",
}
QUESTIONS = {
    "Wann fahren die Schiffe?": {"faehre.txt", "渡船.txt"},
    "Wie pflegt man Gemüse?": {"garten.txt"},
    "几点有船？": {"渡船.txt"},
    "怎样照顾水果？": {"果园.txt"},
    "When do ships sail?": {"faehre.txt", "渡船.txt"},
}
TEXTS = {
    "boat.txt": "The ferry to the island departs at noon from the northern pier.",
    "garden.txt": "Tomatoes want sun, and water in the evening.",
    "numbers.txt": " ".join(str(number) for number in range(3000)),  # windows with more tokens than the model reads
}


class DirectReader:
    """A reader of files in this process."""

    def read(self, path: Path, start: int, _is_wanted: IsWanted) -> Iterator[folder_files.FileSection]:
        """Return the text of a file."""
        yield from folder_files.pieces(path, start)


@contextmanager
def searched(
    model_folder: Path, folder: Path, texts: Mapping[str, str]
) -> Iterator[tuple[FolderIndex, EngineEmbedder]]:
    """Return an index of texts with all vectors, and the embedder that made them."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    model = library.find(str(model_folder))
    assert isinstance(model, library.Model)
    with closing(EngineEmbedder(model)) as embedder, FolderIndex(folder.parent / "history", None) as index:
        index.keep([str(folder)])
        all(index.update(str(folder), DirectReader()))
        while index.embed([str(folder)], embedder):
            pass
        yield index, embedder


def test_other_words_are_found(real_minilm: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    with searched(real_minilm, folder, TEXTS) as (index, embedder):
        state = index.state(str(folder))
        assert state.embedded == state.passages > 3
        question = "When do ships sail?"
        assert index.find([str(folder)], question) == []
        assert index.find([str(folder)], question, embedder)[0].name == "notes/boat.txt"
        longer = f"{question} {'When does the boat to the isle leave? ' * 200}"  # than the model's texts
        assert index.find([str(folder)], longer, embedder)[0].name == "notes/boat.txt"


def test_other_languages_are_found(real_e5: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    with searched(real_e5, folder, LANGUAGES) as (index, embedder):
        for question, expected in QUESTIONS.items():
            found = index.find([str(folder)], question, embedder)
            assert {excerpt.name.partition("/")[2] for excerpt in found[: len(expected)]} == expected, question
        as_question, as_passage = (embedder.embed(["ships"], are_questions=each)[0] for each in (True, False))
        assert as_question != as_passage
