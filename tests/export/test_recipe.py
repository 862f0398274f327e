"""Recipes: every shipped one is right in form, and a wrong one is refused with the field that is wrong."""

from pathlib import Path

import pytest

from headstart.errors import ExportError
from headstart_export import recipe
from headstart_export.recipe import HubSource, ModelRecipe, PackageSource, PairRecipe

FIT_FOR_CI = {
    "smollm2-135m-instruct",
    "qwen2.5-coder-1.5b-instruct",
    "qwen2.5-coder-0.5b-instruct",
    "qwen2.5-coder",
}
MODEL = """
title = "A"
licence = "MIT"
role = "any"
weights = "int8"
parameters = 5
checked = "run"
[[source]]
kind = "hub"
id = "a/b"
revision = "main"
bytes = 10
"""
PACKAGES = """
kind = "packages"
package = "part{part}==1.0"
parts = 2
member = "part{part}/{part:02}.bin"
sha256 = "SUM"
bytes = 10
""".replace("SUM", "ab" * 32)


def write(folder: Path, text: str) -> Path:
    """A recipe file with this text."""
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", recipe.names())
def test_every_shipped_recipe_is_right_in_form(name: str) -> None:
    found = recipe.find(name)
    assert found is not None
    assert found.name == name
    assert found.checked == ("run" if name in FIT_FOR_CI else "not run in CI")
    if isinstance(found, PairRecipe):
        assert recipe.find_model(found.target).role == "target"
        assert recipe.find_model(found.draft).role == "draft"
        assert found.target_weights == "int8"
    else:
        assert found.licence
        assert found.stop
        assert isinstance(found.sources[0], HubSource)


@pytest.mark.parametrize("name", sorted(FIT_FOR_CI - {"qwen2.5-coder"}))
def test_what_may_come_as_a_gguf_file_says_how_to_sample_it(name: str) -> None:
    assert recipe.find_model(name).sampling["temperature"] > 0


@pytest.mark.parametrize("line", ["top_k = 1.5", "top_p = true", 'temperature = "warm"', "min_p = nan", "speed = 1"])
def test_sampling_is_numbers(tmp_path: Path, line: str) -> None:
    with pytest.raises(ExportError, match=line.split(maxsplit=1)[0]):
        recipe.load(write(tmp_path, MODEL.replace("[[source]]", f"[sampling]\n{line}\n[[source]]")))


@pytest.mark.parametrize("name", sorted(FIT_FOR_CI - {"qwen2.5-coder"}))
def test_what_ci_runs_has_a_mirror(name: str) -> None:
    sources = recipe.find_model(name).sources
    mirror = sources[-1]
    assert isinstance(mirror, PackageSource)
    assert len(mirror.packages) == len(mirror.members) == len(set(mirror.packages))
    pinned = [source for source in sources if isinstance(source, HubSource) and source.file]
    assert all(source.sha256 == mirror.sha256 for source in pinned)


def test_packages_are_written_out_in_order(tmp_path: Path) -> None:
    found = recipe.load(write(tmp_path, MODEL + "[[source]]" + PACKAGES))
    assert isinstance(found, ModelRecipe)
    assert found.sources[1] == PackageSource(
        ("part1==1.0", "part2==1.0"), ("part1/01.bin", "part2/02.bin"), "ab" * 32, 10
    )


@pytest.mark.parametrize(
    ("source", "pinned"),
    [
        (HubSource("a/b"), False),
        (HubSource("a/b", "v1.0"), False),
        (HubSource("a/b", "c0ffee" * 6 + "c0f"), False),
        (HubSource("a/b", "c0ffee" * 6 + "c0ff"), True),
        (HubSource("a/b", "main", "a.gguf", "ab" * 32), True),
    ],
)
def test_a_commit_pins_a_source_and_so_does_the_hash_of_a_file(source: HubSource, *, pinned: bool) -> None:
    assert source.is_pinned is pinned


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('title = "A"\n', "", "'title' is missing"),
        ('role = "any"', 'role = "boss"', "role is 'boss' instead of one of target, draft, any"),
        ('weights = "int8"', 'weights = "int3"', "weights is 'int3' instead of one of int8"),
        ("parameters = 5", 'parameters = "five"', "parameters is 'five' instead of a whole number above 0"),
        ("parameters = 5", "parameters = -5", "parameters is -5"),
        ('checked = "run"', 'checked = "yes"', "checked is 'yes'"),
        ('checked = "run"', 'checked = "run"\ncolour = "red"', "'colour' is not a field"),
        ('checked = "run"', 'checked = "run"\nnative = "no"', "native is 'no' instead of true or false"),
        ('checked = "run"', 'checked = "run"\nnotes = "one"', "notes is 'one' instead of a list of texts"),
        ('kind = "hub"', 'kind = "torrent"', "source.kind is 'torrent'"),
        ('id = "a/b"', 'id = ""', "id is '' instead of a text"),
        ("bytes = 10", 'bytes = 10\nfile = "a.gguf"', "'sha256' is missing"),
        ("bytes = 10", 'bytes = 10\nfile = "a.gguf"\nsha256 = "12"', "sha256 is '12' instead of 64 hexadecimal digits"),
        ("bytes = 10", "bytes = ", "Invalid value"),
    ],
)
def test_a_wrong_recipe_names_the_field(tmp_path: Path, old: str, new: str, reason: str) -> None:
    assert old in MODEL
    with pytest.raises(ExportError, match=r"The recipe some\.toml is wrong") as caught:
        recipe.load(write(tmp_path, MODEL.replace(old, new)))
    assert reason in str(caught.value)


def test_an_unknown_model_lists_those_there_are() -> None:
    with pytest.raises(ExportError, match=r"There is no model recipe 'nobody'; there are .*smollm2-135m-instruct"):
        recipe.find_model("nobody")
