"""``s/old/new/``, as sed writes it, applied to text without it.

Patterns come from whoever wrote the transcript, and Python's own engine would let one of them run for
years: this one takes a limit of time.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import regex

LONGEST = 1 << 18
"""Characters of a text after a substitution. A training script has a tenth of that."""
_MOST_FILLED = 50_000_000  # characters; one sign of a template may stand for a whole line


_TOKENS = re.compile(r"\\(?P<group>\d)|\\(?P<char>.|\n)|&", re.DOTALL)


class NotFollowed(Exception):
    """The script does something that is not read here."""


class Clock:
    """The time that all patterns of one script may take together."""

    def __init__(self, seconds: float = 0.5) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds. Raises ``NotFollowed`` when they are used up."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise NotFollowed
        return left


@dataclass(frozen=True, slots=True)
class Substitution:
    """One pattern and what takes its place."""

    pattern: "regex.Pattern[str]"
    """What is looked for."""
    fill: "Callable[[regex.Match[str]], str]"
    """What is put there."""
    everywhere: bool
    """Each occurrence in a line, instead of the first."""
    longest: int
    """Characters of the template."""

    def __call__(self, text: str, clock: Clock) -> str:
        """The text afterwards. Raises ``NotFollowed`` when it takes too long."""
        count = 0 if self.everywhere else 1
        if self.longest * len(text) > _MOST_FILLED:
            raise NotFollowed
        try:
            if self.everywhere and self.pattern.match("", timeout=clock.left):
                raise NotFollowed  # languages differ in where an empty match may follow another
            done = self.pattern.sub(self.fill, text, count=count, timeout=clock.left)
        except TimeoutError:
            raise NotFollowed from None
        if len(done) > LONGEST:
            raise NotFollowed
        return done


def parted(script: str, at: int) -> tuple[str, str, int]:
    """Old and new text of the substitution whose delimiter stands at ``at``, and where it ends.

    Raises:
        NotFollowed: it has no end.
    """
    sign = script[at : at + 1]
    found = re.compile(
        rf"{re.escape(sign)}(?P<old>(?:\\.|[^\\])*?){re.escape(sign)}"
        rf"(?P<new>(?:\\.|[^\\])*?){re.escape(sign)}",
        re.DOTALL,
    ).match(script, at)
    if not sign or sign.isalnum() or found is None:
        raise NotFollowed
    old, new = (part.replace(f"\\{sign}", sign) for part in found.groups())
    return old, new, found.end()


def filling(template: str) -> "Callable[[regex.Match[str]], str]":
    r"""What takes the place of a match, where ``\1`` stands for a group and ``&`` for all of it."""

    def fill(match: "regex.Match[str]") -> str:
        def one(token: re.Match[str]) -> str:
            if token["group"]:
                return match[int(token["group"])] or ""
            if token["char"] is None:
                return match[0]
            return {"n": "\n", "t": "\t"}.get(token["char"], token["char"])

        return _TOKENS.sub(one, template)

    return fill
