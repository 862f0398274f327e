"""What the words on the command line mean."""

from pathlib import Path

import pytest

from headstart.errors import ExportError
from headstart_export.order import ModelOrder, PairOrder, Words, understand
from headstart_export.recipe import HubSource, LocalSource


def test_a_recipe_brings_its_precision_and_role() -> None:
    order = understand(Words("qwen2.5-coder-0.5b-instruct"))
    assert isinstance(order, ModelOrder)
    assert (order.name, order.weights, order.role) == ("qwen2.5-coder-0.5b-instruct", "int8", "draft")


def test_a_pair_recipe_gives_each_model_its_precision() -> None:
    order = understand(Words("qwen2.5-coder"))
    assert isinstance(order, PairOrder)
    assert (order.target.weights, order.draft.weights) == ("int8", "int4")
    assert (order.target.role, order.draft.role) == ("target", "draft")


def test_options_win_over_the_recipe() -> None:
    for words in (
        Words("qwen2.5-coder", weights="int4", draft_weights="int8"),
        Words("org/Big", "self", "int4", "int8"),
    ):
        order = understand(words)
        assert isinstance(order, PairOrder)
        assert (order.target.weights, order.draft.weights) == ("int4", "int8")


def test_a_draft_makes_a_pair() -> None:
    order = understand(Words("org/Big", draft="smollm2-135m-instruct", revision="v1", weights="int4"))
    assert isinstance(order, PairOrder)
    assert order.name == "big+smollm2-135m-instruct"
    assert order.target.recipe.sources == (HubSource("org/Big", "v1"),)
    assert (order.target.weights, order.draft.weights) == ("int4", "int8")
    assert order.draft.role == "draft"


def test_a_model_may_draft_for_itself() -> None:
    order = understand(Words("org/Big", draft="self", revision="v1", draft_vocab="32k"))
    assert isinstance(order, PairOrder)
    assert (order.name, order.draft.name) == ("big+self", "big-self")
    assert (order.target.weights, order.target.copy) == ("int8", False)
    assert (order.draft.weights, order.draft.copy, order.draft.role) == ("int4", True, "draft")
    assert order.draft.recipe.sources == order.target.recipe.sources
    assert order.draft_vocab == 32768


@pytest.mark.parametrize(("text", "rows"), [("32k", 32768), ("64k", 65536), ("20000", 20000), ("full", 0)])
def test_a_draft_s_vocabulary_may_be_given_in_thousands(text: str, rows: int) -> None:
    for words in (Words("qwen2.5-coder", draft_vocab=text), Words("org/Big", draft="org/small", draft_vocab=text)):
        order = understand(words)
        assert isinstance(order, PairOrder)
        assert order.draft_vocab == rows


@pytest.mark.parametrize("text", ["", "k", "0", "-5", "1.5k", "many", "٣k"])
def test_another_vocabulary_is_refused(text: str) -> None:
    with pytest.raises(ExportError, match=r"--draft-vocab is '.*' instead of 32k, 64k, another number of tokens, or"):
        understand(Words("qwen2.5-coder", draft_vocab=text))


def test_a_vocabulary_for_drafts_needs_a_draft() -> None:
    with pytest.raises(ExportError, match="--draft-vocab needs --draft"):
        understand(Words("qwen3-4b", draft_vocab="32k"))


def test_a_hub_id_means_its_newest_revision() -> None:
    order = understand(Words("org/Some-Model"))
    assert isinstance(order, ModelOrder)
    assert order.name == "some-model"
    assert order.recipe.sources == (HubSource("org/Some-Model", "main"),)
    assert order.weights == "int8"


def test_what_lies_here_is_local(tmp_path: Path) -> None:
    (tmp_path / "Mine.gguf").touch()
    for path, name in ((tmp_path, tmp_path.name.lower()), (tmp_path / "Mine.gguf", "mine")):
        order = understand(Words(str(path)))
        assert isinstance(order, ModelOrder)
        assert order.name == name
        assert order.recipe.sources == (LocalSource(path),)


def test_trust_comes_from_the_command_line_alone() -> None:
    for trusted in (False, True):
        order = understand(Words("org/model", trust_remote_code=trusted))
        assert isinstance(order, ModelOrder)
        assert order.code is trusted


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            Words("no such thing"),
            "'no such thing' is no recipe, no folder, no .gguf file and no hub id; the recipes are",
        ),
        (Words("qwen2.5-coder", draft="org/x"), "is the recipe of a pair: it names both models"),
        (Words("org/x", draft="qwen2.5-coder"), "qwen2.5-coder is the recipe of a pair and cannot be a draft"),
        (Words("org/x", draft_weights="int4"), "--draft-weights needs --draft"),
        (Words("org/x", draft_revision="v2"), "--draft-revision needs --draft"),
        (Words("org/x", draft="self", draft_revision="v2"), "A draft of x's own weights has its revision"),
    ],
)
def test_contradictions_are_refused(words: Words, reason: str) -> None:
    with pytest.raises(ExportError) as caught:
        understand(words)
    assert reason in str(caught.value)


def test_a_recipe_may_be_followed_at_another_revision_and_then_no_mirror_stands_for_it() -> None:
    order = understand(Words("qwen3-4b", revision="c0ffee"))
    assert isinstance(order, ModelOrder)
    (source,) = order.recipe.sources
    assert isinstance(source, HubSource)
    assert source.revision == "c0ffee"
    mirrored = understand(Words("smollm2-135m-instruct", revision="c0ffee"))
    assert isinstance(mirrored, ModelOrder)
    assert {type(source) for source in mirrored.recipe.sources} == {HubSource}


def test_both_models_of_a_pair_may_have_a_revision() -> None:
    for words in (
        Words("gemma-3-1b+270m", revision="a1", draft_revision="b2"),
        Words("gemma-3-1b-it", draft="gemma-3-270m-it", revision="a1", draft_revision="b2"),
    ):
        order = understand(words)
        assert isinstance(order, PairOrder)
        revisions = [model.recipe.sources for model in (order.target, order.draft)]
        assert [[source.revision for source in each if isinstance(source, HubSource)] for each in revisions] == [
            ["a1"],
            ["b2"],
        ]


def test_a_local_source_has_no_revision_and_must_be_a_model(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="A revision belongs to a model of the hub"):
        understand(Words(str(tmp_path), revision="v1"))
    (tmp_path / "weights.bin").touch()
    with pytest.raises(ExportError, match=r"weights\.bin is neither a folder nor a \.gguf file"):
        understand(Words(str(tmp_path / "weights.bin")))
