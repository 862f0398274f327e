"""Which engine runs a model: by device, by draft, by a check of the graphics card, or as a person says."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from headstart.engine import loading, opening
from headstart.engine.backends.genai.engine import GenaiEngine
from headstart.engine.engine import EngineKind, LoadOptions
from headstart.engine.local import LocalEngine
from headstart.engine.opening import EngineChoice, LocalModels, choose
from headstart.engine.protocol import Bench, BenchSize
from headstart.errors import SettingsError, UnfitError
from tests.openvino_core import CPU, GPU, FakeCore, plug_in

OPTIONS = LoadOptions(Path("target"))
BECAUSE = "OpenVINO GenAI runs this model because"
OURS, GENAI = EngineChoice(EngineKind.HEADSTART), EngineKind.GENAI


def _unasked() -> str:
    raise AssertionError("nothing is to be tried out here")


@pytest.mark.parametrize(
    ("options", "head", "against", "expected"),
    [
        (OPTIONS, None, None, OURS),
        (replace(OPTIONS, device="GPU"), None, "", OURS),
        (
            replace(OPTIONS, device="GPU.1"),
            None,
            "paged: no",
            EngineChoice(
                GENAI,
                f"{BECAUSE} Headstart's own engine failed a check of this device (paged: no).",
            ),
        ),
        (replace(OPTIONS, draft_device="GPU"), None, "", OURS),
        (
            replace(OPTIONS, device="npu"),
            None,
            None,
            EngineChoice(GENAI, f"{BECAUSE} Headstart's own engine cannot use an NPU."),
        ),
        (
            replace(OPTIONS, draft_device="NPU"),
            None,
            None,
            EngineChoice(GENAI, f"{BECAUSE} Headstart's own engine cannot use an NPU."),
        ),
        (
            OPTIONS,
            "a-head",
            None,
            EngineChoice(
                GENAI,
                f"{BECAUSE} the draft a-head is an EAGLE-3 head, which Headstart's own engine cannot use.",
            ),
        ),
        (replace(OPTIONS, engine=GENAI), None, None, EngineChoice(GENAI)),
        (replace(OPTIONS, engine=EngineKind.HEADSTART, device="GPU"), None, None, OURS),
    ],
)
def test_the_engine_suits_device_and_draft(
    options: LoadOptions, head: str | None, against: str | None, expected: EngineChoice
) -> None:
    assert choose(options, head, _unasked if against is None else lambda: against) == expected


@pytest.mark.parametrize(
    ("options", "head", "sentence"),
    [
        (OPTIONS, "a-head", "a-head is an EAGLE-3 head, which only OpenVINO GenAI can use: leave out --engine headst"),
        (replace(OPTIONS, device="NPU"), None, "An NPU compiles a fixed prompt length in, while Headstart's own engi"),
    ],
)
def test_our_engine_is_not_made_to_run_what_it_cannot(options: LoadOptions, head: str | None, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        choose(replace(options, engine=EngineKind.HEADSTART), head, _unasked)


def _no_runner(*_: object) -> object:
    raise RuntimeError("the driver knows no such operation")


def test_a_card_is_tried_out_once_for_a_model_and_a_driver(
    tiny_target: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": GPU}))
    monkeypatch.setattr(loading, "RUNNERS", {"paged": _no_runner, "stateful": _no_runner})
    options = LoadOptions(tiny_target, device="GPU")
    found = opening.chosen(options)
    assert found.kind is GENAI
    assert "paged: the driver knows no such operation; stateful: the driver" in found.reason
    monkeypatch.setattr(loading, "RUNNERS", {"paged": _unasked, "stateful": _unasked})
    assert opening.chosen(options) == found
    with pytest.raises(UnfitError, match=r"GPU refuses target \(paged: the driver .* Try --device CPU"):
        loading.load_model(tiny_target, loading.Place("GPU", options.numerics, 64), measured)

    monkeypatch.setattr(loading, "RUNNERS", {"paged": lambda *_: SimpleNamespace(can_branch=False)})
    monkeypatch.setattr(loading, "rollback_error", lambda _: 0.0)
    assert opening.chosen(options) == found
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": {**GPU, "GPU_DRIVER_VERSION": "26.1"}}))
    assert opening.chosen(options) == OURS


def test_a_card_that_forgets_badly_leaves_the_model_to_genai(
    tiny_target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plug_in(monkeypatch, FakeCore({"CPU": CPU, "GPU": GPU}))
    monkeypatch.setattr(loading, "RUNNERS", {"paged": lambda *_: SimpleNamespace(can_branch=False)})
    monkeypatch.setattr(loading, "rollback_error", lambda _: 0.5)
    assert (
        "paged: logits differ by 50.0% of their deviation"
        in opening.chosen(LoadOptions(tiny_target, device="GPU")).reason
    )


@pytest.mark.parametrize(("asked", "made"), [(EngineKind.AUTO, LocalEngine), (EngineKind.GENAI, GenaiEngine)])
def test_the_chosen_engine_is_opened_and_says_what_it_is(
    tiny_target: Path, tiny_draft: Path, asked: EngineKind, made: type
) -> None:
    opened = LocalModels().open(LoadOptions(tiny_target, tiny_draft, "AUTO", engine=asked), lambda _: None)
    assert isinstance(opened.engine, made)
    facts = opened.facts
    assert (facts.model, facts.draft, facts.device, facts.context) == ("tiny-target", "tiny-draft", "CPU", 1024)
    assert facts.server == ""
    assert facts.engine == {LocalEngine: "headstart", GenaiEngine: "genai"}[made]
    assert opened.count((), "Hello") > 0
    opened.engine.close()


def test_genai_alone_takes_part_in_no_benchmark(tiny_target: Path) -> None:
    opened = LocalModels().open(LoadOptions(tiny_target, engine=GENAI), lambda _: None)
    with pytest.raises(SettingsError, match="A benchmark times Headstart's own engine"):
        opened.bench(Bench(1, BenchSize(1, 2, 1, with_peer=False)), _unasked, _unasked)  # type: ignore[arg-type]
    opened.engine.close()
