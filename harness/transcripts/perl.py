"""What ``perl -pi -e 's/old/new/'`` does to a text."""

import re
from collections.abc import Iterator

import regex

from harness.transcripts.substitution import (
    LONGEST,
    Clock,
    NotFollowed,
    Substitution,
    filling,
    parted,
)

_MOST_WORK = 1_000_000  # lines times substitutions
_START = re.compile(r"[ \t\n;]*s(?=[^\w\s])")
_FLAGS = re.compile(r"[gimsx]*(?=[ \t\n;]|$)")
_BRACKETS = re.compile(r"\{(?P<old>[^{}]*)\}\s*\{(?P<new>[^{}]*)\}")
_MEANING = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "x": regex.VERBOSE}


def after_perl(script: str, text: str, *, whole: bool) -> str | None:
    """The text after the substitutions; ``None`` when that cannot be told.

    ``whole``: the text is one record (``-0``), instead of one a line.
    """
    try:
        if len(text) > LONGEST:
            return None
        clock, parts = Clock(), [text] if whole else text.splitlines(keepends=True)
        found = list(_parsed(script))
        if len(found) * len(parts) > _MOST_WORK:
            return None
        for substitution in found:
            parts = [substitution(part, clock) for part in parts]
        return "".join(parts)
    except (NotFollowed, regex.error, IndexError):
        return None


def _parsed(script: str) -> Iterator[Substitution]:
    at = 0
    while script[at:].strip(" \t\n;"):
        start = _START.match(script, at)
        if start is None:
            raise NotFollowed
        bracketed = _BRACKETS.match(script, start.end())
        if bracketed:
            old, new, at = bracketed["old"], bracketed["new"], bracketed.end()
        else:
            old, new, at = parted(script, start.end())
        flags = _FLAGS.match(script, at)
        if flags is None:
            raise NotFollowed
        meaning = 0
        for letter in flags[0].replace("g", ""):
            meaning |= _MEANING[letter]
        fill = filling(new, r"(?:\$|\\)\{?(?P<group>\d)\}?", r"\$&")
        yield Substitution(regex.compile(old, meaning), fill, "g" in flags[0], len(new))
        at = flags.end()
