"""A real model says the same through every door: the terminal, the server, another Headstart.

The server serves a base model and one that makes vectors, too.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import openai
import pytest

from headstart import api_keys, remotes
from headstart.cli import load_apart, main
from headstart.engine.engine import EngineKind, LoadOptions, Remote
from headstart.errors import HeadstartError
from headstart.library import manifest
from headstart_export import process
from headstart_export.progress import PlainProgress
from headstart_export.sources import fetching, recipe
from tests.cli.test_serve import served
from tests.conftest import MINILM, USER_CACHE
from tests.server.serving import KEY, MODEL, Running, serving
from tests.support.waiting import PATIENCE

SERVE = """
import sys
from headstart.cli import main
sys.exit(main(["serve", *sys.argv[1:]]))
"""
QUESTION = "Write three short sentences about rivers."
ASKED: Any = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], "max_tokens": 40}
Type = Callable[..., Any]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Type:
    """Return the greedy answer of `headstart chat` with these flags."""

    def chat(*flags: str) -> Any:
        assert main(["chat", *flags, "--max-new-tokens", "40", "--greedy", "--json", "--prompt", QUESTION]) == 0
        return json.loads(capsys.readouterr().out)

    return chat


@pytest.fixture
def running(real_smollm2: Path) -> Iterator[Running]:
    """A server of the model."""
    with closing(load_apart(LoadOptions(real_smollm2))) as engine, serving(engine) as running:
        yield running


def test_genai_refuses_blocks_of_a_gguf_file(real_smollm2: Path) -> None:
    with pytest.raises(HeadstartError, match="the blocks of its GGUF file"):
        load_apart(LoadOptions(real_smollm2, engine=EngineKind.GENAI))


def test_every_api_gives_the_same_greedy_text(real_smollm2: Path, running: Running, typed: Type) -> None:
    here = ("--model", str(real_smollm2))
    said = typed(*here)
    api_keys.keep("here", KEY)
    remotes.add(Remote("here", running.url))
    assert typed("--model", "remote:here")["text"] == said["text"]
    with running.client() as client:
        reply = client.chat.completions.create(**ASKED, temperature=0, logprobs=True, top_logprobs=1)
    assert reply.choices[0].message.content == said["text"]
    tokens = reply.choices[0].logprobs.content
    assert b"".join(bytes(token.bytes) for token in tokens).decode() == said["text"]
    assert all(token.top_logprobs[0].bytes == token.bytes for token in tokens)  # it is the greedy choice
    assert reply.usage.completion_tokens == len(tokens) == len(said["token_ids"])


@contextmanager
def program(home: Path, model: Path) -> Iterator[openai.OpenAI]:
    """A client of `headstart serve`, whose library has only this model."""
    (home / "models").mkdir(parents=True)
    (home / "models" / model.name).symlink_to(model)
    with served("--key", KEY, script=SERVE) as (_, lines):
        (url,) = re.findall(r"http://\S+", lines[-1])
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, timeout=PATIENCE) as client:
            yield client


def test_gemma_continues_texts(real_gemma: Path, headstart_home: Path) -> None:
    with program(headstart_home, real_gemma) as client:

        def continued(prompt: str) -> str:
            asked: Any = {"model": real_gemma.name, "prompt": prompt, "max_tokens": 12, "temperature": 0}
            return str(client.completions.create(**asked).choices[0].text)

        assert continued("Monday, Tuesday,").startswith(" Wednesday, Thursday, Friday")
        assert continued("The three primary colors are").startswith(" red, blue, and yellow")
        assert continued("<div>a</div>\n<div>b</div>\n<div>c").startswith("</div>\n<div>d"), "a tag is one token"
        with pytest.raises(openai.BadRequestError, match="has no chat template"):
            client.chat.completions.create(model=real_gemma.name, messages=[{"role": "user", "content": "Hi"}])


def test_gemma_is_described_as_what_it_is(real_gemma: Path) -> None:
    found = manifest.read_model(real_gemma)
    assert (found.architecture, found.licence, found.context_length) == ("Gemma3ForCausalLM", "Gemma", 32768)
    assert found.tokenizer.stop_ids == (1,)
    assert found.tokenizer.proof
    assert found.tokenizer.proof > 70_000
    assert found.quality
    assert found.quality.top1_agreement > 0.9


CAT, KITTEN, RATES = "A cat sits on the mat.", "A kitten is on the rug.", "Interest rates rose."
LONG = "Größe, naïveté, 你好 🙂 " * 20


def test_minilm_makes_the_vectors_of_its_source(
    real_minilm: Path, headstart_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = (CAT, KITTEN, RATES, LONG)
    with program(headstart_home, real_minilm) as client:
        made = np.array([each.embedding for each in client.embeddings.create(model=MINILM, input=list(texts)).data])
    cat, kitten, rates, _ = made
    assert cat @ kitten > 0.5 + cat @ rates
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = fetching.fetch(recipe.find_model(MINILM), USER_CACHE, PlainProgress(StringIO())).path
    agreement = (made * by_sentence_transformers(source, texts)).sum(axis=1)
    assert agreement.min() > 0.998, "as far as INT8 rounds"


def by_sentence_transformers(source: Path, texts: Sequence[str]) -> Any:
    """Return normalised means of the hidden states of texts, as the model's own page computes them."""
    process.prepare()
    import torch  # noqa: PLC0415
    from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415

    tokens = AutoTokenizer.from_pretrained(source)(list(texts), padding=True, return_tensors="pt")
    with torch.no_grad():
        states = AutoModel.from_pretrained(source).eval()(**tokens).last_hidden_state
    mask = tokens["attention_mask"].unsqueeze(-1)
    means = (states * mask).sum(dim=1) / mask.sum(dim=1)
    return torch.nn.functional.normalize(means).numpy()
