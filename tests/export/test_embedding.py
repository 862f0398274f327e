"""Models that turn texts into vectors: exported for real, tiny and random, and equal to torch's numbers when served."""

import json
import math
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from headstart.cli import main
from headstart.engine.engine import ConversationRequest, Finish, LoadOptions, Message, VectorsRequest
from headstart.engine.opening import LocalModels
from headstart.errors import ContextOverflowError, ExportError, SettingsError
from headstart.library import library, manifest
from headstart.server.models import LoadedModels, OpenModel, Served
from headstart_export import process
from headstart_export.sources import weights
from headstart_export.tasks import embedding
from tests.export.conftest import Offline, Outcome
from tests.server.serving import serving
from tests.stand_ins.fakes import ScriptedEngine

pytestmark = pytest.mark.slow

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "on",
    "mat",
    "red",
    "blue",
    ".",
    ",",
    "un",
    "##able",
    "##s",
    "hello",
    "world",
    "1",
    "2",
]
TEXTS = ("The cat sat on the mat.", "unable dogs, hello", "blue", "xyz 12")
LENGTH = 16
POOLINGS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "last": "pooling_mode_lasttoken"}


def write_source(folder: Path, pooling: str = "mean", *, normalized: bool = True) -> Path:
    """A BERT with random weights, as sentence-transformers saves one."""
    process.prepare()
    import torch  # noqa: PLC0415
    from tokenizers import BertWordPieceTokenizer  # noqa: PLC0415
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast  # noqa: PLC0415

    folder.mkdir(parents=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, *WORDS, *(chr(code) for code in range(ord("a"), ord("z") + 1) if chr(code) != "a")]
    native = BertWordPieceTokenizer({word: index for index, word in enumerate(words)}, lowercase=True)
    named = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]"}
    PreTrainedTokenizerFast(tokenizer_object=native._tokenizer, **named).save_pretrained(folder)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    (folder / "1_Pooling").mkdir()
    write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 64, POOLINGS[pooling]: True})
    kinds = ["Transformer", "Pooling", "Normalize"][: 3 if normalized else 2]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": index, "path": paths[index], "type": f"sentence_transformers.models.{kind}"}
        for index, kind in enumerate(kinds)
    ]
    write(folder / "modules.json", modules)
    write(folder / "sentence_bert_config.json", {"max_seq_length": LENGTH})
    return folder


def write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data), encoding="utf-8")


def by_torch(source: Path, ids: list[int]) -> Any:
    """Return the hidden states of a text by torch, a row for each token."""
    import torch  # noqa: PLC0415
    from transformers import BertModel  # noqa: PLC0415

    model = BertModel.from_pretrained(source, add_pooling_layer=False).eval()
    with torch.no_grad():
        return model(torch.tensor([ids])).last_hidden_state[0].numpy().astype(np.float64)


def ids_of(source: Path, text: str) -> list[int]:
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    ids: list[int] = PreTrainedTokenizerFast.from_pretrained(source)(text).input_ids
    return ids


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source") / "tiny-bert")


@pytest.fixture(scope="module")
def whole(source: Path, offline: Offline, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model, exported without loss of precision."""
    folder = tmp_path_factory.mktemp("whole") / "tiny-bert"
    outcome = exported(offline, source, folder, "fp16")
    assert outcome.code == 0, outcome.err
    return folder


@pytest.fixture
def installed(whole: Path, headstart_home: Path) -> Path:
    """The embedding model in the library."""
    return shutil.copytree(whole, headstart_home / "models" / "tiny-bert")


def exported(offline: Offline, source: Path, folder: Path, weights: str = "int8") -> Outcome:
    (outcome,) = offline.export([str(source), "--weights", weights, "--output", str(folder), "--json"])
    return outcome


def vectors(folder: Path, *inputs: str | tuple[int, ...]) -> Finish:
    opened = LocalModels().open(LoadOptions(folder), lambda _: None)
    with closing(opened.engine):
        *_, finish = opened.engine.generate(VectorsRequest(inputs=inputs))
    assert isinstance(finish, Finish)
    return finish


@pytest.mark.parametrize(("pooling", "normalized"), [("mean", True), ("cls", False), ("last", True)])
def test_embeddings_equal_those_of_torch(pooling: str, normalized: bool, tmp_path: Path, offline: Offline) -> None:
    source = write_source(tmp_path / "source", pooling, normalized=normalized)
    outcome = exported(offline, source, tmp_path / "fp16", "fp16")
    assert outcome.code == 0, outcome.err
    finish = vectors(tmp_path / "fp16", *TEXTS)
    assert finish.stats.prompt_tokens == sum(len(ids_of(source, text)) for text in TEXTS)
    for text, vector in zip(TEXTS, finish.vectors, strict=True):
        found = np.frombuffer(vector, "<f4")
        states = by_torch(source, ids_of(source, text))
        wanted = {"mean": states.mean(axis=0), "cls": states[0], "last": states[-1]}[pooling]
        wanted = wanted / np.linalg.norm(wanted) if normalized else wanted
        assert np.linalg.norm(found - wanted) < 0.005 * np.linalg.norm(wanted), "weights of 16 bits round that far"


def test_int8_export_states_its_precision(source: Path, tmp_path: Path, offline: Offline) -> None:
    outcome = exported(offline, source, tmp_path / "int8")
    assert outcome.code == 0, outcome.err
    known = manifest.read_model(tmp_path / "int8")
    assert (known.kind, known.precision.weights, known.context_length) == ("embedding", "int8", LENGTH)
    assert known.embedding is not None
    assert (known.embedding.pooling, known.embedding.normalized, known.embedding.dimensions) == ("mean", True, 64)
    assert 0.95 <= known.embedding.agreement <= 1.0001
    assert "64 dimensions" in outcome.err
    (found,) = vectors(tmp_path / "int8", TEXTS[0]).vectors
    assert np.linalg.norm(np.frombuffer(found, "<f4")) == pytest.approx(1)


def test_token_input_is_embedded_and_long_input_refused(source: Path, installed: Path) -> None:
    ids = tuple(ids_of(source, TEXTS[0]))
    by_text, by_ids = vectors(installed, TEXTS[0], ids).vectors
    assert by_text == by_ids
    with pytest.raises(ContextOverflowError, match="Text 1 has 22 tokens, but the model reads 16"):
        vectors(installed, "blue", "cat " * 20)
    with pytest.raises(SettingsError, match="Text 0 has no token that the model knows"):
        vectors(installed, (9999,))


def test_embedding_model_is_listed_and_cannot_chat(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0
    assert "embedding" in capsys.readouterr().out
    assert main(["chat", "--model", "tiny-bert", "Hello"]) == 2
    assert "tiny-bert" in capsys.readouterr().err
    assert main(["models", "check", "tiny-bert"]) == 0
    opened = LocalModels().open(LoadOptions(installed), lambda _: None)
    with closing(opened.engine), pytest.raises(SettingsError, match="cannot chat"):
        list(opened.engine.generate(ConversationRequest((Message("user", "Hi"),))))
    assert not any(map(library.can_chat, library.installed()))


@pytest.fixture
def client(installed: Path) -> Iterator[openai.OpenAI]:
    """A client of a server with this model and one that writes."""

    def load(name: str) -> OpenModel:
        is_vectors = name == "tiny-bert"
        opened = LocalModels().open(LoadOptions(installed), lambda _: None) if is_vectors else None
        return OpenModel(opened.engine if opened else ScriptedEngine(["Hello."]), LENGTH)

    models = LoadedModels(lambda: [Served("toy", 64), Served("tiny-bert", LENGTH, dimensions=64)], load)
    with serving(ScriptedEngine(), models=models) as running, running.client() as client:
        yield client
    models.close()


def test_embeddings_route_answers_as_openai(client: openai.OpenAI, source: Path) -> None:
    wanted = client.embeddings.create(model="tiny-bert", input=list(TEXTS))  # the client asks for base64
    assert [each.index for each in wanted.data] == [0, 1, 2, 3]
    assert wanted.usage.prompt_tokens == wanted.usage.total_tokens == sum(len(ids_of(source, text)) for text in TEXTS)
    plain = client.embeddings.create(model="openai/Tiny-BERT", input=TEXTS[0], encoding_format="float")
    assert plain.model == "tiny-bert"
    np.testing.assert_allclose(plain.data[0].embedding, wanted.data[0].embedding, atol=1e-6)
    tokens = ids_of(source, TEXTS[0])
    for given in (tokens, [tokens]):
        (by_tokens,) = client.embeddings.create(model="tiny-bert", input=given, encoding_format="float").data
        assert by_tokens.embedding == plain.data[0].embedding
    (cut,) = client.embeddings.create(model="tiny-bert", input=TEXTS[0], dimensions=8, encoding_format="float").data
    assert len(cut.embedding) == 8
    assert math.hypot(*cut.embedding) == pytest.approx(1)
    assert client.models.retrieve("tiny-bert").to_dict()["capabilities"] == ["embedding"]


def test_embeddings_of_ollamas_routes_are_the_same(client: openai.OpenAI) -> None:
    def ask(route: str, **body: Any) -> Any:
        address = str(client.base_url).replace("/v1/", f"/api/{route}")
        return client.post(address, cast_to=object, body={"model": "tiny-bert:latest", **body})

    wanted = client.embeddings.create(model="tiny-bert", input=list(TEXTS), encoding_format="float")
    several = ask("embed", input=list(TEXTS), truncate=True, keep_alive="5m")
    assert several["embeddings"] == [each.embedding for each in wanted.data]
    assert several["prompt_eval_count"] == wanted.usage.prompt_tokens
    assert ask("embed", input=TEXTS[0])["embeddings"] == [wanted.data[0].embedding]
    assert ask("embeddings", prompt=TEXTS[0])["embedding"] == wanted.data[0].embedding
    assert ask("show")["capabilities"] == ["embedding"]


def test_rerank_sorts_documents_by_the_query(client: openai.OpenAI) -> None:
    def ask(**body: Any) -> Any:
        return client.post("/rerank", cast_to=object, body={"model": "tiny-bert", "query": TEXTS[1], **body})

    results = ask(documents=[TEXTS[0], {"text": TEXTS[1]}, TEXTS[2]], return_documents=True)["results"]
    assert (results[0]["index"], results[0]["document"]) == (1, {"text": TEXTS[1]})
    assert results[0]["relevance_score"] == pytest.approx(1)
    scores = [each["relevance_score"] for each in results]
    assert scores == sorted(scores, reverse=True)
    (best,) = ask(documents=list(TEXTS), top_n=1)["results"]
    assert best == {"index": 1, "relevance_score": pytest.approx(1)}
    with pytest.raises(openai.BadRequestError, match="`documents`"):
        ask(documents=[])


def test_chat_model_stays_loaded_beside_embeddings(client: openai.OpenAI) -> None:
    hello: Any = [{"role": "user", "content": "Hi"}]
    assert client.chat.completions.create(model="toy", messages=hello).choices[0].message.content == "Hello."
    client.embeddings.create(model="tiny-bert", input="cat")
    assert client.chat.completions.create(model="toy", messages=hello).choices[0].message.content == "Hello."


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"input": ""}, "`input`"),
        ({"input": []}, "`input`"),
        ({"input": ["a", 1]}, "mixes token ids with texts"),
        ({"input": "cat " * 20}, "the model reads 16 at a time"),
        ({"input": ["cat"] * 2049}, "`input`"),
        ({"input": "cat", "dimensions": 65}, "have 64 dimensions"),
        ({"input": "cat", "model": "toy"}, "turns texts into vectors"),
        ({"input": "cat", "model": "nope"}, "ask for 'toy', 'tiny-bert'"),
    ],
)
def test_invalid_embedding_input_is_refused(client: openai.OpenAI, asked: Any, sentence: str) -> None:
    with pytest.raises(openai.APIStatusError, match=sentence):
        client.embeddings.create(**({"model": "tiny-bert"} | asked))


def test_embedding_model_refuses_a_conversation(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="writes answers"):
        client.chat.completions.create(model="tiny-bert", messages=[{"role": "user", "content": "Hi"}])


@pytest.mark.parametrize(
    ("file", "data", "sentence"),
    [
        ("modules.json", [], "modules.json is missing"),
        ("modules.json", [{"type": "a.Transformer"}, {"type": "a.Pooling"}, {"type": "a.Dense"}], "Dense"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ("1_Pooling/config.json", {}, "it is not said"),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "words of its own before each text"),
        ("config.json", {"architectures": ["BertModel"]}, "how many tokens it reads"),
    ],
)
def test_incomplete_embedding_source_is_refused(
    source: Path, tmp_path: Path, file: str, data: Any, sentence: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(source, copy)
    write(copy / file, data)
    assert weights.is_embedding_model(copy)
    with pytest.raises(ExportError, match=sentence):
        embedding.read_recipe(copy)
