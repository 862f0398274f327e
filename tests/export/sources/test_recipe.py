"""Recipes are right in form or refused with the field that is wrong; what a command line makes of them."""

import dataclasses
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from headstart.engine.loading.memory import need
from headstart.errors import ExportError
from headstart.library import library, manifest
from headstart_export import forms
from headstart_export.conversion.quantize import Int4
from headstart_export.sources import recipe
from headstart_export.sources.recipe import (
    Arguments,
    HubSource,
    LocalSource,
    ModelOrder,
    ModelRecipe,
    PackageSource,
    PairOrder,
    PairRecipe,
)
from tests.stand_ins.model_folders import write_pair

PAIR = "qwen2.5-coder"
WRITES_NOTHING = ("embedding", "recognition", "transcription")
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
PACKAGES = f"""
[[source]]
kind = "packages"
package = "part{{part}}==1.0"
parts = 2
member = "part{{part}}/{{index:02}}.bin"
sha256 = "{"ab" * 32}"
bytes = 10
"""


def load(folder: Path, text: str) -> recipe.Recipe:
    """Return the recipe in a file with this text."""
    path = folder / "some.toml"
    path.write_text(text, encoding="utf-8")
    return recipe.load(path)


def model(words: Arguments) -> ModelOrder:
    """Return the order of one model."""
    order = recipe.parse_order(words)
    assert isinstance(order, ModelOrder)
    return order


def pair(words: Arguments) -> PairOrder:
    """Return the order of a pair."""
    order = recipe.parse_order(words)
    assert isinstance(order, PairOrder)
    return order


@pytest.mark.parametrize("name", recipe.names())
def test_every_shipped_recipe_is_valid(name: str) -> None:
    found = recipe.find(name)
    assert found is not None
    assert found.name == name
    if isinstance(found, ModelRecipe):
        assert found.licence
        assert bool(found.chat.stop) == (found.purpose not in WRITES_NOTHING)
        assert found.parameters
        assert any(isinstance(source, HubSource) for source in found.sources) != recipe.is_wheel(found.sources[0])
        assert bool(found.vectors) == (found.purpose == "embedding")
        assert all(source.bytes for source in found.sources if isinstance(source, HubSource | PackageSource))
    else:
        assert [recipe.find_model(part).role for part in (found.target, found.draft)] == ["target", "draft"]
        assert found.target_weights in {"gguf", "int8"}


def test_recipes_of_ci_have_a_mirror_and_sampling() -> None:
    of_ci = [found for found in map(recipe.find, recipe.names()) if found and found.checked == "run"]
    models = [found for found in of_ci if isinstance(found, ModelRecipe)]
    assert models
    for found in models:
        assert bool(found.sampling.temperature) == (found.purpose not in WRITES_NOTHING), found.name
        (mirror,) = (source for source in found.sources if isinstance(source, PackageSource))
        assert len(mirror.packages) == len(mirror.members) == len(set(mirror.packages)), found.name
        pinned = [source for source in found.sources if isinstance(source, HubSource) and source.sha256]
        assert all(source.sha256 == mirror.sha256 for source in pinned), found.name


def test_packages_are_expanded_in_order(tmp_path: Path) -> None:
    found = load(tmp_path, MODEL + PACKAGES)
    assert isinstance(found, ModelRecipe)
    packages = found.sources[1]
    assert isinstance(packages, PackageSource)
    assert packages.packages == ("part1==1.0", "part2==1.0")
    assert packages.members == ("part1/00.bin", "part2/01.bin")


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
def test_commit_or_hash_pins_a_source(source: HubSource, *, pinned: bool) -> None:
    assert source.is_pinned is pinned


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('title = "A"\n', "", "title"),
        ('title = "A"\n', 'title = ""\n', "title"),
        ('role = "any"', 'role = "boss"', "role"),
        ('weights = "int8"', 'weights = "int3"', "weights"),
        ("parameters = 5", 'parameters = "five"', "parameters"),
        ("parameters = 5", "parameters = -5", "parameters"),
        ('checked = "run"', 'checked = "yes"', "checked"),
        ('checked = "run"', 'checked = "run"\ncolour = "red"', "colour"),
        ('checked = "run"', 'checked = "run"\nnative = "no"', "native"),
        ('checked = "run"', 'checked = "run"\nnotes = "one"', "notes"),
        ('kind = "hub"', 'kind = "torrent"', "kind"),
        ('kind = "hub"', 'kind = "LocalSource"\npath = "/"', "source"),
        ("bytes = 10", f'bytes = 10\nsha256 = "{"ab" * 32}"', "sha256"),
        ("bytes = 10", 'bytes = 10\nfile = "a.gguf"\nsha256 = "12"', "sha256"),
        ("bytes = 10", "bytes = ", "Invalid value"),
        *(
            ("[[source]]", f"[sampling]\n{line}\n[[source]]", line.split(maxsplit=1)[0])
            for line in ("top_k = 1.5", "top_p = true", 'temperature = "warm"', "min_p = nan", "speed = 1")
        ),
    ],
)
def test_invalid_recipe_names_the_field(tmp_path: Path, old: str, new: str, field: str) -> None:
    assert old in MODEL
    with pytest.raises(ExportError, match=rf"The recipe some\.toml is wrong: .*{field}"):
        load(tmp_path, MODEL.replace(old, new))


def test_unknown_model_lists_the_known_ones() -> None:
    with pytest.raises(ExportError, match=r"There is no model recipe 'nobody'; there are .*smollm2-135m-instruct"):
        recipe.find_model("nobody")


def test_recipe_has_precision_and_role() -> None:
    order = model(Arguments("qwen2.5-coder-0.5b-instruct"))
    assert (order.name, order.weights, order.role) == ("qwen2.5-coder-0.5b-instruct", "gguf", "draft")
    both = pair(Arguments(PAIR))
    assert [(each.weights, each.role) for each in (both.target, both.draft)] == [("gguf", "target"), ("int4", "draft")]


@pytest.mark.parametrize(
    "words",
    [Arguments(PAIR, weights="int4", draft_weights="int8"), Arguments("org/Big", "org/small", "int4", "int8")],
)
def test_options_override_the_recipe(words: Arguments) -> None:
    order = pair(words)
    assert (order.target.weights, order.draft.weights) == ("int4", "int8")


def test_draft_makes_a_pair() -> None:
    order = pair(Arguments("org/Big", draft="smollm2-135m-instruct", revision="v1", weights="int4"))
    assert order.name == "big-int4+smollm2-135m-instruct"
    assert order.target.recipe.sources == (HubSource("org/Big", "v1"),)
    assert (order.target.weights, order.draft.weights, order.draft.role) == ("int4", "gguf", "draft")


@pytest.mark.parametrize(("text", "rows"), [("32k", 32768), ("64k", 65536), ("20000", 20000), ("full", 0)])
@pytest.mark.parametrize("words", [{"source": PAIR}, {"source": "org/Big", "draft": "org/small"}])
def test_draft_vocab_is_read_in_thousands(words: dict[str, Any], text: str, rows: int) -> None:
    assert pair(Arguments(**words, draft_vocab=text)).draft_vocab == rows


@pytest.mark.parametrize("text", ["", "k", "0", "-5", "1.5k", "many", "٣k"])
def test_invalid_draft_vocab_is_refused(text: str) -> None:
    with pytest.raises(ExportError, match=r"--draft-vocab is '.*' instead of 32k, 64k, another number of tokens, or"):
        recipe.parse_order(Arguments(PAIR, draft_vocab=text))


def test_hub_id_means_its_newest_revision() -> None:
    order = model(Arguments("org/Some-Model"))
    assert (order.name, order.weights) == ("some-model", "int8")
    assert order.recipe.sources == (HubSource("org/Some-Model", "main"),)


def test_local_folder_has_no_revision(tmp_path: Path, tiny_gguf_file: Path) -> None:
    files = {"Mine.gguf": "mine", "12ab" * 16 + ".gguf": "tiny", "model-q8_0.gguf": "tiny"}  # tiny: as the file says
    for path in (tmp_path, *(tmp_path / file for file in files)):
        if path != tmp_path:
            shutil.copy(tiny_gguf_file, path)
        order = model(Arguments(str(path)))
        assert (order.name, order.recipe.sources) == (files.get(path.name, tmp_path.name.lower()), (LocalSource(path),))
    (tmp_path / "blob").write_bytes(tiny_gguf_file.read_bytes())
    (tmp_path / "Linked.gguf").symlink_to(tmp_path / "blob")  # as in the cache of the hub
    assert model(Arguments(str(tmp_path / "Linked.gguf"))).name == "linked"
    (tmp_path / "empty.gguf").touch()
    with pytest.raises(ExportError, match=r"empty\.gguf is not a GGUF file that can be used"):
        recipe.parse_order(Arguments(str(tmp_path / "empty.gguf")))
    with pytest.raises(ExportError, match="A revision belongs to a model of the hub"):
        recipe.parse_order(Arguments(str(tmp_path), revision="v1"))
    (tmp_path / "weights.bin").touch()
    with pytest.raises(ExportError, match=r"weights\.bin is neither a folder nor a \.gguf file"):
        recipe.parse_order(Arguments(str(tmp_path / "weights.bin")))


@pytest.mark.parametrize("trusted", [False, True])
def test_trust_comes_from_the_command_line_alone(*, trusted: bool) -> None:
    assert model(Arguments("org/model", trust_remote_code=trusted)).code is trusted


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (Arguments("no thing"), "'no thing' is no recipe, no folder, no .gguf file and no hub id; the recipes are"),
        (Arguments("smolm2-135m-instruct"), "no hub id; did you mean smollm2-135m-instruct"),
        (Arguments("./nothing.gguf"), "There is no file or folder ./nothing.gguf; check the path."),
        (Arguments("nothing.GGUF"), "There is no file or folder nothing.GGUF; check the path."),
        (Arguments(PAIR, draft="org/x"), "is the recipe of a pair: it names both models"),
        (Arguments("org/x", draft=PAIR), "qwen2.5-coder is the recipe of a pair and cannot be a draft"),
        (Arguments("org/x", draft_weights="int4"), "--draft-weights needs --draft"),
        (Arguments("org/x", draft_revision="v2"), "--draft-revision needs --draft"),
        (Arguments("qwen3-4b", draft_vocab="32k"), "--draft-vocab needs --draft"),
    ],
)
def test_contradictions_are_refused(words: Arguments, reason: str) -> None:
    with pytest.raises(ExportError) as caught:
        recipe.parse_order(words)
    assert reason in str(caught.value)


def test_recipe_may_name_weights_and_template_files(tmp_path: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text("{{ messages }}", encoding="utf-8")
    order = model(Arguments("gemma-3-270m-it", local=str(tmp_path), template=template))
    assert order.recipe.sources == (LocalSource(tmp_path),)
    assert (order.name, order.recipe.licence, order.recipe.chat.stop[0]) == (
        "gemma-3-270m-it",
        "Gemma",
        "<end_of_turn>",
    )
    assert order.template == "{{ messages }}"
    drafted = pair(Arguments("gemma-3-1b-it", draft="org/x", local=str(tmp_path), template=template))
    assert (drafted.draft.template, drafted.draft.recipe.sources) == (None, (HubSource("org/x"),))


def test_int4_options_are_for_the_target(tmp_path: Path) -> None:
    order = model(Arguments("org/x", weights="int4", ratio=0.8, group_size=32, calibration="gptq"))
    assert order.int4 == Int4("gptq", 0.8, 32)
    both = pair(Arguments(PAIR, weights="int4", ratio=0.8, calibration="awq"))
    assert (both.target.int4, both.draft.int4) == (Int4("awq", 0.8), Int4("awq"))
    drafted = pair(Arguments("org/x", draft="org/y", weights="int4", ratio=0.8))
    assert (drafted.target.int4.ratio, drafted.draft.int4) == (0.8, Int4())


@pytest.mark.parametrize("words", [Arguments(f"{PAIR}-int4"), Arguments(PAIR, weights="int4")])
def test_every_recipe_has_a_fast_variant(words: Arguments) -> None:
    order = pair(words)
    assert (order.name, order.target.name) == (f"{PAIR}-int4", "qwen2.5-coder-1.5b-instruct-int4")
    assert (order.target.weights, order.draft) == ("int4", pair(Arguments(PAIR)).draft)
    assert order.target.recipe.sources == pair(Arguments(PAIR)).target.recipe.sources


@pytest.mark.parametrize(("weights", "name"), [(None, "x"), ("int8", "x"), ("int4", "x-int4"), ("fp16", "x-fp16")])
def test_unusual_precision_is_part_of_the_name(weights: str | None, name: str) -> None:
    assert model(Arguments("org/x", weights=weights)).name == name
    assert pair(Arguments("org/x", draft="org/y", weights=weights, draft_weights="int4")).name == f"{name}+y"


def test_adapter_is_part_of_name_and_target(tmp_path: Path) -> None:
    style = tmp_path / "Style"
    assert model(Arguments("org/x", adapter=style)).name == "x-style"
    both = pair(Arguments(PAIR, adapter=style))
    assert (both.name, both.target.adapter, both.draft.adapter) == (f"{PAIR}-style", style, None)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (Arguments("org/x", ratio=0.8), "--ratio belongs to INT4: add --weights int4."),
        (Arguments("org/x", calibration="awq"), "--calibration belongs to INT4: add --weights int4."),
        (Arguments(PAIR, group_size=64), "--group-size belongs to INT4: add --weights int4."),
        (Arguments("org/x", weights="int4", ratio=0.0), "--ratio is a share of the weights, above 0 and at most 1"),
        (Arguments("org/x", weights="int4", ratio=80), "--ratio is a share of the weights, above 0 and at most 1"),
        (Arguments("org/x", weights="int4", group_size=0), "--group-size is a number of weights, such as 64, or -1"),
    ],
)
def test_unsupported_int4_options_are_refused(words: Arguments, reason: str) -> None:
    with pytest.raises(ExportError) as caught:
        recipe.parse_order(words)
    assert reason in str(caught.value)


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for words, reason in (
        (
            Arguments(PAIR, local=str(tmp_path)),
            "--from belongs to the recipe of one model, which 'qwen2.5-coder' is not",
        ),
        (Arguments("org/x", local=str(tmp_path)), "--from belongs to the recipe of one model, which 'org/x' is not"),
        (Arguments("qwen3-4b", local="org/x"), "There is no file or folder org/x; check the path."),
        (Arguments("qwen3-4b", local=""), "A name is empty"),
        (Arguments("qwen3-4b", template=tmp_path / "none"), "none of --template cannot be read (["),
        (Arguments("qwen3-4b", template=tmp_path / "binary"), "binary of --template cannot be read ('utf-8'"),
        (Arguments("qwen3-4b", template=tmp_path), "of --template is no file; name one with a chat template."),
    ):
        with pytest.raises(ExportError) as caught:
            recipe.parse_order(words)
        assert reason in str(caught.value)


def test_recipe_at_another_revision_has_no_mirror() -> None:
    (source,) = model(Arguments("smollm2-135m-instruct", revision="c0ffee")).recipe.sources
    assert isinstance(source, HubSource)
    assert source.revision == "c0ffee"


@pytest.mark.parametrize("words", [{"source": "gemma-3-1b+270m"}, {"source": "gemma-3-1b-it", "draft": "org/x"}])
def test_both_models_of_a_pair_may_have_a_revision(words: dict[str, Any]) -> None:
    order = pair(Arguments(**words, revision="a1", draft_revision="b2"))
    sources = [*order.target.recipe.sources, *order.draft.recipe.sources]
    assert [source.revision for source in sources if isinstance(source, HubSource)] == ["a1", "b2"]


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (Arguments("qwen3-4b"), ["Qwen3-4B-Q4_K_M.gguf"]),
        (Arguments("qwen3-4b-int4"), ["Qwen3-4B-Q4_K_M.gguf"]),
        (Arguments("qwen3-4b", weights="int8"), [None]),
        (Arguments("qwen3-4b", adapter=Path("style")), [None]),
        (Arguments("qwen3-4b", weights="int4", calibration="awq"), [None]),
        (Arguments("gemma-3-4b-it", weights="int8"), ["gemma-3-4b-it-Q4_K_M.gguf"]),  # there are no other weights
    ],
)
def test_source_weights_are_for_what_a_file_does_not_do(words: Arguments, files: list[str | None]) -> None:
    sources = model(words).recipe.sources
    assert [source.file for source in sources if isinstance(source, HubSource)] == files
    assert len(sources) == len(files)


def test_recommended_pair_needs_no_pytorch_and_few_bytes() -> None:
    order = pair(Arguments("qwen3-4b+0.6b"))
    assert order.target.may_be_imported
    assert order.draft.may_be_imported
    assert forms.cost(order) == "qwen3-4b+0.6b: 3.1 GB to download, at most 3.2 GB on the disk, and no PyTorch."
    assert (forms.cost(model(Arguments("qwen3-4b", weights="int8"))) or "").endswith("4.5 GB on the disk.")


def test_only_embedding_models_need_pytorch() -> None:
    found = {name: recipe.find(name) for name in recipe.names()}
    parts = {name: forms.parts(each) for name, each in found.items() if each}
    needing = {
        name
        for name, models in parts.items()
        if any(recipe.needs_pytorch(part.suited(weights).sources[0]) for part, weights in models)
    }
    assert {recipe.find_model(name).purpose for name in needing} == {"embedding"}


def test_drafts_of_recipes_are_of_their_targets_family() -> None:
    pairs = [found for name in recipe.names() if isinstance(found := recipe.find(name), PairRecipe)]
    assert pairs
    for found in pairs:
        target, draft = recipe.find_model(found.target), recipe.find_model(found.draft)
        assert target.name.partition("-")[0] == draft.name.partition("-")[0]
        assert target.chat == draft.chat
        assert draft.parameters < target.parameters / 2


def test_recipes_of_models_that_write_state_what_a_text_takes() -> None:
    models = [found for name in recipe.names() if isinstance(found := recipe.find(name), ModelRecipe)]
    for found in models:
        known = found.memory
        assert bool(known.kv_bytes_per_token and known.vocabulary) == (found.purpose not in WRITES_NOTHING), found.name
        assert bool(found.head_bytes) == bool(found.head), found.name


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("name", ["smollm2", "gemma", "minilm", "e5", "pp_ocr", "whisper"])
def test_memory_before_the_download_is_that_of_the_model_at_most(request: pytest.FixtureRequest, name: str) -> None:
    require_bound(request.getfixturevalue(f"real_{name}"))


@pytest.mark.slow
@pytest.mark.pair
def test_memory_of_a_pair_before_the_download_is_that_of_the_pair_at_most(real_pair: Path) -> None:
    require_bound(real_pair)


def require_bound(folder: Path) -> None:
    """Require that a recipe states what the manifest of its model in `folder` does, and a size hardly above it."""
    found = recipe.find(folder.name)
    assert found
    models = [model.manifest for model in library.loaded_models(library.find(str(folder)))]
    footprints = forms.loaded(forms.parts(found))
    for model, footprint in zip(models, footprints, strict=True):
        for field in ("context_length", "kv_bytes_per_token", "window", "window_kv_bytes_per_token", "states"):
            assert getattr(footprint, field) == getattr(model, field), (model.name, field)
        assert footprint.vocabulary == pytest.approx(model.vocabulary, rel=0.01)
    after = need(models).total
    assert after <= need(footprints).total <= 1.1 * after


class TestForm:
    """The form of a recipe that fits this computer."""

    def test_precise_form_is_taken_where_it_fits(self) -> None:
        form = chosen("qwen2.5-coder", 16)
        assert (form.weights, form.is_for_memory) == ("gguf", False)
        assert form.reason == (
            "qwen2.5-coder in its precise form (gguf), as it fits into the memory (2.9 GB at most of 16.0 GB that are "
            "free)."
        )
        form = chosen("qwen3-1.7b", 16)
        assert form.reason == (
            "qwen3-1.7b in its precise form (gguf), as it fits into the memory (3.1 GB at most of 16.0 GB that are "
            "free); --weights int4 takes the fast form."
        )

    def test_fast_form_is_taken_where_only_that_fits(self) -> None:
        form = chosen("qwen3-1.7b", 3.1)
        assert (form.weights, form.is_for_memory) == ("int4", True)
        assert form.reason.startswith("qwen3-1.7b-int4, the fast form, as the precise one takes up to 3.1 GB")
        assert form.reason.endswith(" GB are free; --weights gguf takes the precise one.")

    def test_precise_form_is_taken_where_neither_fits(self) -> None:
        form = chosen("qwen3-1.7b", 2)
        assert (form.weights, form.is_for_memory) == ("gguf", False)
        assert "though neither form fits into the memory" in form.reason

    def test_form_with_the_blocks_of_its_file_is_taken_where_it_does_not_fit(self) -> None:
        form = chosen("qwen3-8b+0.6b", 2)
        assert (form.weights, form.is_for_memory) == ("gguf", False)
        assert form.reason.endswith("though it does not fit into the memory (8.2 GB at most, and 2.0 GB are free).")

    def test_form_that_is_here_is_taken(self) -> None:
        form = chosen("qwen2.5-coder", 16, ["qwen2.5-coder-int4"])
        assert (form.weights, form.is_for_memory) == ("int4", False)
        assert form.reason == (
            "qwen2.5-coder is here in its fast form (qwen2.5-coder-int4); --weights gguf takes the precise one."
        )

    @pytest.mark.parametrize(("agreement", "is_refused"), [(0.84, True), (0.86, False)])
    def test_form_below_the_floor_is_refused(self, tmp_path: Path, agreement: float, *, is_refused: bool) -> None:
        target = write_pair(tmp_path / "both-int4") / "target"
        described = manifest.read_model(target)
        assert described.quality
        manifest.write(
            target,
            dataclasses.replace(described, quality=dataclasses.replace(described.quality, top1_agreement=agreement)),
        )
        sentence = r"^both fits .* on 84\.0% .* --weights int4\.$"
        with pytest.raises(ExportError, match=sentence) if is_refused else nullcontext():
            forms.require_quality(tmp_path / "both-int4")


def chosen(name: str, gigabytes: float, installed: Sequence[str] = ()) -> forms.Form:
    """Return the form on a computer with so much free memory."""
    named = recipe.find(name)
    assert named
    return forms.choose(named, int(gigabytes * 1e9), installed)


def test_target_gets_its_head_alone_and_in_a_pair() -> None:
    alone = recipe.parse_order(Arguments("qwen2.5-coder-1.5b-instruct"))
    pairs = [
        recipe.parse_order(Arguments("qwen2.5-coder")),
        recipe.parse_order(Arguments("qwen2.5-coder-1.5b-instruct", draft="qwen2.5-coder-0.5b-instruct")),
    ]
    assert isinstance(alone, ModelOrder)
    assert alone.recipe.head
    assert all(isinstance(pair, PairOrder) and pair.target.recipe.head for pair in pairs)
