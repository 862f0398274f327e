"""Things kept between runs of the tests are made anew when their sources do something else, and only then."""

from pathlib import Path

import pytest

from tests import conftest
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


def test_proof_is_given_once_for_each_state_of_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "USER_CACHE", tmp_path / "cache")
    monkeypatch.setattr(conftest, "USER_ENVIRONMENT", {})
    before, after, calls = tmp_path / "before.py", tmp_path / "after.py", list[str]()
    before.write_text(SOURCE, encoding="utf-8")
    after.write_text(SOURCE.replace("a + b", "b + a"), encoding="utf-8")

    def fail() -> None:
        calls.append("failed")
        raise AssertionError

    def prove(source: Path) -> None:
        conftest.proven_once("sums", [source], lambda: calls.append("passed"))

    with pytest.raises(AssertionError):
        conftest.proven_once("sums", [before], fail)
    prove(before)
    prove(before)
    assert calls == ["failed", "passed"]
    prove(after)
    assert calls == ["failed", "passed", "passed"]
    monkeypatch.setattr(conftest, "USER_ENVIRONMENT", {conftest.AGAIN_VARIABLE: "1"})
    prove(after)
    assert calls == ["failed", "passed", "passed", "passed"]
