"""Teaches the draft of a pair what its target says, by a low-rank adapter, and prints how far it comes.

PYTHONPATH=app:export python app/bench/research/taught_draft.py PAIR DRAFT --texts FOLDER --output ADAPTER

PAIR is an exported folder, DRAFT what its draft was made from: a GGUF file or a Hugging Face folder. FOLDER holds what
`headstart-export head PAIR/target --keep FOLDER` had the target write, which may be stopped once there is enough. The
draft learns the target's own distribution over the tokens that come most (Zhou et al. 2023, DistillSpec). `--output` is
an adapter as PEFT saves it, which `headstart-export DRAFT --adapter` merges. Needs the export extra and `peft`.

Prints one JSON object a line: tokens learned from, seconds, the mean KL divergence on the trials in nats, and by class
the share of the target's choices that are the draft's too, where it knows all tokens before them.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.runners.graph import tapped_layers
from headstart_export import convert, draft_vocab, features, process
from headstart_export.features import Store, Text

ROWS = 24_576  # tokens of both distributions
RANK, RATE = 16, 4e-4
AT_ONCE = 1400  # tokens of a change of the weights, with what fills up the shorter texts
WARM_UP = 20  # changes
FALLING = 0.5  # the last part of the training, in which the rate goes down to a twentieth
EVERY = 20_000  # tokens between two trials
_SHUFFLED = 48  # texts that are sorted by their length


class Lesson:
    """A draft with an adapter, and its target's output rows."""

    def __init__(self, pair: Path, draft: Path, store: Store) -> None:
        """Nothing is learned yet."""
        import torch  # noqa: PLC0415 - after `process.prepare`
        from peft import LoraConfig, get_peft_model  # noqa: PLC0415

        from headstart_export.head_model import TargetWeights  # noqa: PLC0415

        self.torch = torch
        weights, chosen = TargetWeights(pair / "target"), _usual_tokens(store)
        self._target_rows = weights.rows_of("lm_head" if weights.has("lm_head") else "embed_tokens", chosen)
        source = convert.load_weights(draft, code=False).to(torch.bfloat16).requires_grad_(requires_grad=False)
        self._rows = source.get_output_embeddings().weight[torch.from_numpy(chosen)].clone()
        names = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
        self.model = get_peft_model(source, LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules=names))
        self.weights = [each for each in self.model.parameters() if each.requires_grad]
        for each in self.weights:
            each.data = each.data.float()

    def scores(self, texts: Sequence[Text]) -> tuple[Any, Any]:
        """Logits of draft and target at all places whose next token was written: [places, ROWS] each."""
        torch = self.torch
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(text.ids) for text in texts], batch_first=True)
        mask = torch.arange(ids.shape[1])[None] < torch.tensor([len(text.ids) for text in texts])[:, None]
        with torch.autocast("cpu", torch.bfloat16):
            read = self.model.base_model.model.model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        hidden = torch.cat([read[row, text.given - 1 : len(text.ids)] for row, text in enumerate(texts)])
        states = np.concatenate([text.states[text.given - 1 :, -self._target_rows.shape[1] :] for text in texts])
        expected = torch.from_numpy(states).to(torch.bfloat16) @ self._target_rows.T
        return (hidden.to(torch.bfloat16) @ self._rows.T).float(), expected.float()

    def tried(self, trials: Sequence[Text]) -> dict[str, object]:
        """How the draft does on texts that it does not learn from."""
        held: dict[str, list[bool]] = {}
        unlike: list[float] = []
        with self.torch.inference_mode():
            for text in trials:
                found, expected = self.scores([text])
                shares = expected.log_softmax(-1)
                unlike += (shares.exp() * (shares - found.log_softmax(-1))).sum(-1).tolist()
                held.setdefault(text.kind, []).extend((found.argmax(-1) == expected.argmax(-1)).tolist())
        rates = {kind: round(float(np.mean(right)), 3) for kind, right in held.items()}
        everything = round(float(np.mean([each for right in held.values() for each in right])), 4)
        return {"kl": round(float(np.mean(unlike)), 4), "held": everything, **rates}

    def learn(self, texts: Sequence[Text], trials: Sequence[Text], output: Path) -> None:
        """Learn once from each text, and say what came of it."""
        torch = self.torch
        optimizer = torch.optim.AdamW(self.weights, lr=RATE, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
        total, learned, begun, told = sum(map(_learned, texts)), 0, time.monotonic(), 0
        print(json.dumps({"tokens": 0, **self.tried(trials)}), flush=True)
        for number, batch in enumerate(_batches(texts), start=1):
            rate = min(1.0, number / WARM_UP) * min(1.0, max(0.05, (1 - learned / total) / FALLING))
            optimizer.param_groups[0]["lr"] = RATE * rate
            optimizer.zero_grad(set_to_none=True)
            found, expected = self.scores(batch)
            loss = torch.nn.functional.cross_entropy(found, expected.softmax(-1))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
            optimizer.step()
            learned += sum(map(_learned, batch))
            if learned - told >= EVERY or learned == total:
                told, seconds = learned, round(time.monotonic() - begun)
                print(json.dumps({"tokens": learned, "seconds": seconds, **self.tried(trials)}), flush=True)
                self.model.save_pretrained(output)


def _learned(text: Text) -> int:
    return len(text.ids) - text.given


def _batches(texts: Sequence[Text]) -> Iterator[list[Text]]:
    """All texts once, those of a like length together."""
    order = random.Random(0).sample(texts, len(texts))  # noqa: S311 - the same order at each call
    for start in range(0, len(order), _SHUFFLED):
        batch: list[Text] = []
        for text in sorted(order[start : start + _SHUFFLED], key=lambda each: len(each.ids)):
            if batch and (len(batch) + 1) * len(text.ids) > AT_ONCE:
                yield batch
                batch = []
            batch.append(text)
        yield batch


def _usual_tokens(store: Store) -> Any:
    tokenizer = convert.load_tokenizer(store.target)
    counts = np.zeros(len(tokenizer))
    for text in store.texts(store.finished()):
        np.add.at(counts, text.ids[text.given :], 1.0)
    ranked = draft_vocab.rank(tokenizer, np.stack([counts, counts]), draft_vocab.texts_at_hand())
    return np.sort(np.array(ranked[:ROWS], np.int64))


def main() -> None:
    """Read the arguments, learn, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pair", type=Path)
    parser.add_argument("draft", type=Path)
    parser.add_argument("--texts", type=Path, required=True, help="what the target wrote")
    parser.add_argument("--output", type=Path, required=True, help="a folder for the adapter")
    given = parser.parse_args()
    process.prepare()
    target = given.pair / "target"
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    store = Store(given.texts, target, tapped_layers(int(config["num_hidden_layers"])))
    texts, trials = (list(store.texts(names)) for names in (store.finished(), [features.TRIALS]))
    Lesson(given.pair, given.draft, store).learn(texts, trials, given.output)


if __name__ == "__main__":
    main()
