"""The models that write answers, and the place of their heads."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from headstart import paths
from headstart_export.pipeline import build
from headstart_export.sources.recipe import Arguments, parse_order


@pytest.mark.parametrize(
    ("arguments", "writes"),
    [
        (Arguments("gemma-3-1b-it"), True),  # alone, so it gets a table
        (Arguments("qwen2.5-coder-1.5b-instruct"), False),  # alone, but it has a head
        (Arguments("qwen2.5-coder-1.5b-instruct", adapter=Path("style")), True),  # the head does not fit the adapter
        (Arguments("qwen2.5-coder"), False),  # the tokens of its draft come with the recipe
        (Arguments("qwen2.5-coder", draft_vocab="32k"), True),  # ranks the tokens of its draft
        (Arguments("qwen2.5-coder", draft_vocab="full"), False),
        (Arguments("qwen2.5-coder", draft_vocab="full", weights="int4", calibration="awq"), True),
        (Arguments("qwen3-4b+0.6b"), False),
        (Arguments("smollm2-135m-instruct"), False),  # has a head
        (Arguments("smollm2-135m-instruct", weights="int4", calibration="gptq"), True),
        (Arguments("qwen3-0.6b"), False),  # drafts
    ],
)
def test_only_a_model_whose_answers_are_used_writes(arguments: Arguments, writes: bool) -> None:
    assert build.writes_answers(parse_order(arguments)) == writes


def test_installed_program_has_its_heads_in_the_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wheel = "smollm2-135m-instruct", tmp_path / "headstart.whl"
    file = build._lean_file(name)
    with ZipFile(wheel, "w") as package:
        package.writestr(f"headstart_export/recipes/heads/{name}/{file.name}", file.read_bytes())
    monkeypatch.setattr(paths, "bundled_wheel", lambda: wheel)
    packed = build._lean_file(name)
    assert packed != file
    assert packed.read_bytes() == file.read_bytes()
