"""What a race's result says should be set for each class: pure arithmetic on made-up standings."""

import pytest

from headstart.engine.bench.result import Advice, advice


def result(draft: str | None = "small", **kinds: dict[str, float]) -> dict[str, object]:
    """A result in the form of its JSON: speedups by class and contestant ("_" stands for a space)."""
    names = dict.fromkeys(name for speedups in kinds.values() for name in speedups)
    standings = {
        name.replace("_", " "): {"total_by_kind": {kind: speedups.get(name) for kind, speedups in kinds.items()}}
        for name in names
    }
    prompts = [{"kind": kind} for kind in kinds for _ in range(2)]
    return {"setting": {"draft": draft}, "prompts": prompts, "standings": standings}


def test_the_best_length_comes_with_those_around_it_that_are_as_good() -> None:
    speeds = {"plain": 1.0, "fixed_1": 1.5, "fixed_3": 1.99, "fixed_4": 1.8, "fixed_5": 2.2, "fixed_6": 2.18}
    (code,) = advice(result(code=speeds | {"fixed_8": 2.21, "auto": 2.3, "genai_7": 9.0}))
    assert code == Advice("code", "draft", (5, 8), 2.21, 2.3)
    assert code.words == "draft, 5-8"


def test_each_class_has_its_own_winner() -> None:
    given = advice(
        result(
            code={"fixed_5": 2.0, "ngram": 1.1, "auto": 2.1},
            edit={"fixed_5": 2.0, "ngram": 3.0, "auto": 3.1},
            story={"fixed_5": 0.9, "ngram": 1.01, "auto": 1.0},
            math={"fixed_5": 1.2, "draft": 1.3},
        )
    )
    assert [(each.kind, each.words) for each in given] == [
        ("code", "draft, 5"),
        ("edit", "n-gram"),
        ("story", "off"),
        ("math", "draft"),
    ]
    assert [each.speedup for each in given] == [2.0, 3.0, 1.0, 1.3]
    assert given[3].auto is None


def test_without_a_draft_a_length_is_one_of_ngrams() -> None:
    (edit,) = advice(result(None, edit={"fixed_3": 1.4, "fixed_5": 1.7}))
    assert edit.words == "n-gram, 5"


def test_a_class_in_which_nothing_was_raced_but_plain_decoding_stays_off() -> None:
    (story,) = advice(result(story={"plain": 1.0}))
    assert (story.words, story.auto) == ("off", None)


@pytest.mark.parametrize("data", [{}, {"standings": {}, "setting": {}, "prompts": []}, []])
def test_other_data_is_an_error(data: object) -> None:
    with pytest.raises((KeyError, TypeError)):
        advice(data)  # type: ignore[arg-type]
