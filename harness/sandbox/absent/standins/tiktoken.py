"""Tokens without a vocabulary: one for each byte."""

from typing import Any

from harness.sandbox.absent.lent import lend


class Encoding:
    """Bytes as tokens, under the names of the real one."""

    def __init__(self, name: str) -> None:
        lend(f"the tokenizer {name}: a token for each byte")
        self.name = name
        self.n_vocab = self.max_token_value = 50257
        self.eot_token = 255

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        """Of a text."""
        return [*text.encode()]

    encode_ordinary = encode

    def encode_batch(self, texts: list[str], *_: Any, **__: Any) -> list[list[int]]:
        """Of several."""
        return [self.encode(text) for text in texts]

    encode_ordinary_batch = encode_batch

    def decode(self, tokens: Any, *_: Any) -> str:
        """Back to a text."""
        return bytes(int(t) % 256 for t in tokens).decode(errors="replace")

    @property
    def _special_tokens(self) -> dict[str, int]:
        return {"<|endoftext|>": self.eot_token}


def get_encoding(name: str) -> Encoding:
    """By its own name."""
    return Encoding(name)


def encoding_for_model(name: str) -> Encoding:
    """By a model's."""
    return Encoding(name)
