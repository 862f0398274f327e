"""Things kept between runs of the tests are made anew when their sources do something else, and only then."""

from pathlib import Path

import pytest

from tests.source_state import digest, sources_of

SOURCE = '"""About."""\n\ndef add(a, b):\n    """Add."""\n    return a + b\n'


@pytest.mark.parametrize(
    ("changed", "is_same"),
    [
        (SOURCE.replace("Add.", "Return the sum."), True),
        (SOURCE.replace('"""About."""', '"""More."""  # a comment'), True),
        (SOURCE.replace("a + b", "(a +\n            b)"), True),
        (SOURCE.replace("a + b", "b + a"), False),
        (SOURCE.replace("return", 'text = "Add."\n    return'), False),
    ],
)
def test_comments_docstrings_and_layout_change_no_state(tmp_path: Path, changed: str, is_same: bool) -> None:
    (tmp_path / "before.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "after.py").write_text(changed, encoding="utf-8")
    assert (digest(tmp_path / "before.py") == digest(tmp_path / "after.py")) == is_same


def test_sources_are_programs_and_data_of_files_and_folders(tmp_path: Path) -> None:
    for name in ("one.py", "folder/two.toml", "folder/deep/three.npy", "folder/page.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = sources_of(tmp_path, ["one.py", "folder"])
    assert {path.name for path in found} == {"one.py", "two.toml", "three.npy"}
