"""Models and tokenizers that would be downloaded: small ones of the same kind, not pretrained."""

import functools
import importlib
import os
import sys
from typing import Any

import torch

from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.standins.torchvision import transforms

SIDE = 32
"""Pixels of a side of its pictures."""

SMALL: dict[str, int] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
    "intermediate_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 2, "d_model": 32, "d_ff": 64,
    "d_kv": 16, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 2, "dim": 32,
    "hidden_dim": 64, "n_layers": 2, "n_heads": 2, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2, "head_dim": 16, "embedding_size": 32, "image_size": SIDE,
    "patch_size": 8,
}  # fmt: skip
"""Sizes of a model that takes no time."""

VOCABULARY, SPECIAL = 384, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""How many tokens the tokenizer has that is lent, and its first ones."""

KINDS = ("distilbert", "roberta", "albert", "electra", "bert", "gpt2", "t5", "bart", "opt", "llama",
         "mistral", "qwen2", "gemma", "vit", "pythia")  # fmt: skip
"""Kinds of models, by parts of their names, the first that fits."""

ALIASES = {"pythia": "gpt_neox", "roberta": "roberta"}
"""Kinds under other names."""


def install() -> None:
    """Patch transformers, where it is loaded."""
    library: Any = sys.modules.get("transformers")
    if library is None:
        return
    library.PreTrainedModel.from_pretrained = classmethod(_model)  # type: ignore[arg-type]  # a class is anything
    auto = sys.modules["transformers.models.auto.auto_factory"]
    importlib.import_module("transformers.models.auto.modeling_auto")
    for cls in (base := vars(auto)["_BaseAutoModelClass"], *base.__subclasses__()):
        cls.from_pretrained = classmethod(_auto_model)  # type: ignore[arg-type]  # as above; each has its own
    library.AutoConfig.from_pretrained = staticmethod(
        lambda name, **more: _config(library, name, more)
    )
    library.PretrainedConfig.from_pretrained = classmethod(
        lambda cls, name, **more: _sized(cls, more)
    )
    library.AutoTokenizer.from_pretrained = staticmethod(
        lambda name, **_: _tokenizer(library, name)
    )
    fast = library.PreTrainedTokenizerFast
    fast.__init__ = _from_file(fast.__init__)
    base = library.PreTrainedTokenizerBase
    base.add_special_tokens = _of_words(base.add_special_tokens)
    importlib.import_module("transformers.models.auto.image_processing_auto")
    mixin = importlib.import_module("transformers.image_processing_base").ImageProcessingMixin
    for cls in (mixin, library.AutoImageProcessor, library.AutoFeatureExtractor):
        cls.from_pretrained = staticmethod(lambda *_, **__: PictureProcessor())
    for name in ("PreTrainedTokenizerBase", "PreTrainedTokenizer", "PreTrainedTokenizerFast"):
        cls = getattr(library, name)
        cls.from_pretrained = classmethod(lambda _, name, **__: _tokenizer(library, name))


class PictureProcessor:
    """Stands for what prepares pictures for a model: small ones, about zero."""

    size = crop_size = {"height": SIDE, "width": SIDE, "shortest_edge": SIDE}  # noqa: RUF012 - its own
    image_mean = image_std = (0.5, 0.5, 0.5)
    do_resize = do_rescale = do_normalize = True

    def save_pretrained(self, *_: Any, **__: Any) -> None:
        """Nothing is kept of it."""

    def __call__(self, images: Any, *_: Any, **__: Any) -> dict[str, Any]:
        """Tensors, whatever is asked for."""
        several = images if isinstance(images, list | tuple) else [images]
        make = transforms.Compose([transforms.ToTensor(), transforms.Resize((SIDE, SIDE))])
        found = [make(one if hasattr(one, "mode") else torch.as_tensor(one)) for one in several]
        return {"pixel_values": 2 * torch.stack([f.expand(3, -1, -1) for f in found]) - 1}


def _model(cls: Any, name: Any = "", *_: Any, config: Any = None, **more: Any) -> Any:
    lend(f"{name}: a small {cls.__name__}, not pretrained")
    return cls(config if config is not None else _sized(cls.config_class, more))


def _auto_model(cls: Any, name: Any = "", *_: Any, config: Any = None, **more: Any) -> Any:
    lend(f"{name}: a small model of its kind, not pretrained")
    found = config if config is not None else _config(sys.modules["transformers"], name, more)
    return cls.from_config(found)


def _config(library: Any, name: Any, more: dict[str, Any]) -> Any:
    kind = next((k for k in KINDS if k in str(name).lower()), "bert")
    return _sized(library.CONFIG_MAPPING[ALIASES.get(kind, kind)], more)


def _sized(config_class: Any, more: dict[str, Any]) -> Any:
    """A small configuration of a kind, with what the program asks for."""
    plain = config_class()
    names = {*plain.to_dict()} - {*getattr(config_class, "attribute_map", {})}
    sizes = {name: size for name, size in SMALL.items() if name in names}
    own = {n: v for n, v in more.items() if hasattr(plain, n) and n not in ("dtype", "torch_dtype")}
    vocabulary = {"vocab_size": VOCABULARY} if hasattr(plain, "vocab_size") else {}
    special = {
        n: v
        for n, v in (("pad_token_id", 0), ("bos_token_id", 2), ("eos_token_id", 3))
        if hasattr(plain, n)
    }
    kinds = ((n, type(getattr(plain, n, None))) for n in getattr(plain, "sub_configs", ()))
    parts = {n: _sized(kind, {}) for n, kind in kinds if kind is not type(None)}
    found = config_class(**{**sizes, **parts, **vocabulary, **special, **own})
    if getattr(found, "is_encoder_decoder", False) and not hasattr(found, "decoder_start_token_id"):
        found.decoder_start_token_id = 0
    return found


def _from_file(original: Any) -> Any:
    """A tokenizer of a file; a token for each letter where that is not here."""

    @functools.wraps(original)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        file = kwargs.get("tokenizer_file")
        if file is not None and not os.path.exists(file):
            kwargs = {**kwargs, "tokenizer_file": None, "tokenizer_object": _letters(file)}
        original(self, *args, **kwargs)

    return make


def _of_words(original: Any) -> Any:
    """What adds special tokens, also where the program leaves them to its reader and is lent others."""

    @functools.wraps(original)
    def add(self: Any, tokens: Any, *args: Any, **kwargs: Any) -> Any:
        words = {key: [f"<{key} {n}>" for n in range(3)] for key in tokens}
        shown = {key: value for key, value in tokens.items() if _holds_words(value)}
        return original(self, words | shown, *args, **kwargs)

    return add


def _holds_words(value: Any) -> bool:
    kinds = ("str", "AddedToken")
    several = value if isinstance(value, list | tuple) else [value]
    return all(type(one).__name__ in kinds for one in several)


def _tokenizer(library: Any, name: Any) -> Any:
    """Letters, with the usual special tokens."""
    found = library.PreTrainedTokenizerFast(tokenizer_object=_letters(name), model_max_length=64)
    roles = ("pad", "unk", "cls", "sep", "mask", "bos", "eos")
    tokens = [*SPECIAL, "[CLS]", "[SEP]"]
    found.add_special_tokens({f"{r}_token": t for r, t in zip(roles, tokens, strict=True)})
    return found


def _letters(name: Any) -> Any:
    """A token for each, behind the special ones."""
    lend(f"the tokenizer {name}: a token for each letter")
    tokenizers = sys.modules["tokenizers"]
    letters = [chr(n) for n in range(33, 33 + VOCABULARY - len(SPECIAL))]
    words = {token: n for n, token in enumerate([*SPECIAL, *letters])}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))  # noqa: S106 - no password
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\S"), "isolated")
    return made
