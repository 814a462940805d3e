"""The model all-MiniLM-L6-v2 with NumPy: reads texts, one in each line of the input, and writes for each 384 four-byte numbers.

A folder with the model's weights (model.safetensors) and its tokenizer (tokenizer.json) is the only argument. The model is by
Reimers and Gurevych (sbert.net), a BERT of six layers; a text's vector is the mean of its tokens' outputs, of length 1."""

import json
import sys
from pathlib import Path

import numpy
from tokenizers import Tokenizer

LAYERS, HEADS, WIDTH = 6, 12, 384
# Tokens after these are not read. A batch has texts of similar length.
LONGEST, BATCH = 128, 32


def load(path):
    """The weights by name."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    weights = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = entry["data_offsets"]
            weights[name] = numpy.frombuffer(data, numpy.float32, (end - start) // 4, 8 + size + start).reshape(entry["shape"])
    return weights


def normalized(x, weights, name):
    x = x - x.mean(-1, keepdims=True)
    return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * weights[name + ".weight"] + weights[name + ".bias"]


def erf(x):
    """Abramowitz and Stegun 7.1.26; the error is less than 1.5e-7."""
    t = 1 / (1 + 0.3275911 * numpy.abs(x))
    sum = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return numpy.sign(x) * (1 - sum * numpy.exp(-x * x))


def vectors(weights, ids, mask):
    """The vectors of a batch of texts, whose tokens `mask` tells from padding."""
    count, length = ids.shape
    x = (weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][:length]
         + weights["embeddings.token_type_embeddings.weight"][0])
    x = normalized(x, weights, "embeddings.LayerNorm")
    padding = (1 - mask)[:, None, None, :] * numpy.float32(-1e9)
    for layer in range(LAYERS):
        part = f"encoder.layer.{layer}."

        def dense(x, name):
            return x @ weights[part + name + ".weight"].T + weights[part + name + ".bias"]

        def heads(name):
            return dense(x, f"attention.self.{name}").reshape(count, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2) / numpy.float32((WIDTH // HEADS) ** 0.5) + padding
        scores = numpy.exp(scores - scores.max(-1, keepdims=True))
        seen = (scores / scores.sum(-1, keepdims=True) @ heads("value")).transpose(0, 2, 1, 3).reshape(count, length, WIDTH)
        x = normalized(x + dense(seen, "attention.output.dense"), weights, part + "attention.output.LayerNorm")
        inner = dense(x, "intermediate.dense")
        inner = inner * (1 + erf(inner / numpy.float32(2 ** 0.5))) / 2
        x = normalized(x + dense(inner, "output.dense"), weights, part + "output.LayerNorm")
    x = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
    return x / numpy.linalg.norm(x, axis=1, keepdims=True)


def main():
    folder = Path(sys.argv[1])
    weights = load(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()
    tokens = [code.ids for code in tokenizer.encode_batch(sys.stdin.read().splitlines())]
    made = numpy.zeros((len(tokens), WIDTH), numpy.float32)
    order = sorted(range(len(tokens)), key=lambda text: len(tokens[text]))
    for start in range(0, len(order), BATCH):
        batch = order[start:start + BATCH]
        ids = numpy.zeros((len(batch), max(len(tokens[text]) for text in batch)), numpy.int64)
        mask = numpy.zeros(ids.shape, numpy.float32)
        for row, text in enumerate(batch):
            ids[row, :len(tokens[text])] = tokens[text]
            mask[row, :len(tokens[text])] = 1
        made[batch] = vectors(weights, ids, mask)
    sys.stdout.buffer.write(made.tobytes())


if __name__ == "__main__":
    main()
