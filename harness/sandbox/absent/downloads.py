"""What a program would download: texts by chance; states that stay as they were initialised."""

import io
import urllib.request
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import torch

from harness.sandbox.absent.checkpoints import AbsentState, absent_state
from harness.sandbox.absent.files import TEXTS, text
from harness.sandbox.absent.lent import lend
from harness.sandbox.unbound import Unbound


def content(url: Any) -> bytes:
    """What an address has.

    Raises:
        Unbound: it is no text.
    """
    name = _name(url)
    if PurePosixPath(name).suffix not in TEXTS:
        raise Unbound(name, "would be downloaded, and there is no network here")
    lend(f"{name}: a text by chance")
    return text().encode()


def install() -> None:
    """Patch what downloads: files that are written to disk are lent when they are opened."""
    vars(urllib.request).update(
        urlopen=lambda url, *_, **__: io.BytesIO(content(getattr(url, "full_url", url))),
        urlretrieve=lambda url, filename=None, *_, **__: (filename or _name(url), None),
    )
    vars(torch.hub).update(
        load_state_dict_from_url=_state,
        load_url=_state,
        download_url_to_file=lambda *_, **__: None,
        list=lambda *_, **__: [],
    )


def _state(url: Any, *_: object, **__: object) -> AbsentState:
    return absent_state(_name(url))


def _name(url: Any) -> str:
    return PurePosixPath(urlsplit(str(url)).path).name or str(url)
