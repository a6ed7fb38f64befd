"""tiktoken without its vocabularies, which it downloads: a token for each letter."""

from collections.abc import Collection, Iterable

SIZES = {"gpt2": 50257, "r50k_base": 50257, "p50k_base": 50281, "cl100k_base": 100277}
"""How many tokens an encoding has; those that came later have as many as ``o200k_base``."""

LATEST = 200019
END = "<|endoftext|>"
"""The one special token, the last of all."""


class Encoding:
    """An encoding by its name."""

    def __init__(self, name: str) -> None:
        """``name``: ``gpt2``, ``cl100k_base`` ..."""
        self.name = name
        self.n_vocab = SIZES.get(name, LATEST)
        self.eot_token = self.max_token_value = self.n_vocab - 1
        self.special_tokens_set = {END}

    def encode(
        self,
        text: str,
        *,
        allowed_special: str | Collection[str] = (),
        disallowed_special: object = (),
    ) -> list[int]:
        """Its letters, and the end of a text where that is allowed."""
        del disallowed_special
        parts = text.split(END) if allowed_special == "all" or END in allowed_special else [text]
        tokens = [t for part in parts for t in (*self.encode_ordinary(part), self.eot_token)]
        return tokens[:-1]

    def encode_ordinary(self, text: str) -> list[int]:
        """Its letters."""
        return list(text.encode("utf-8", "replace"))

    def encode_batch(
        self, texts: Iterable[str], **special: str | Collection[str]
    ) -> list[list[int]]:
        """Each by itself."""
        allowed = special.get("allowed_special", ())
        return [self.encode(text, allowed_special=allowed) for text in texts]

    def encode_ordinary_batch(self, texts: Iterable[str], **_: object) -> list[list[int]]:
        """Each by itself."""
        return [self.encode_ordinary(text) for text in texts]

    def encode_single_token(self, text: str) -> int:
        """The end of a text, or a letter."""
        return self.eot_token if text == END else self.encode_ordinary(text)[0]

    def decode(self, tokens: Iterable[int]) -> str:
        """The text; what is no letter is left out."""
        return bytes(int(t) for t in tokens if int(t) < 256).decode("utf-8", "replace")

    def decode_batch(self, batch: Iterable[Iterable[int]]) -> list[str]:
        """Each by itself."""
        return [self.decode(tokens) for tokens in batch]


def get_encoding(encoding_name: str) -> Encoding:
    """An encoding by its name."""
    return Encoding(encoding_name)


def encoding_for_model(model_name: str) -> Encoding:
    """That of a model: newer ones share one."""
    return Encoding("gpt2" if model_name.startswith("gpt2") else "cl100k_base")
