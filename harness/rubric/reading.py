"""An answer as a reader takes it in: sentences, prose and code, each with its way back.

Patterns look at a text without Markdown's marks; quotes are taken from the answer as it stands.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from harness.domain.lexicon import Within
from harness.markdown import fenced_blocks

_LONGEST = 1200  # characters of a sentence: a text without full stops is cut, for fast patterns
_MOST = 120_000  # characters of an answer that are read
_PASSAGE = 3

_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)[.!?]['\")\]*_]*\s+(?=\S)")
_NEW_UNIT = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|#{1,6}\s|\||>)")
_LONG_WORD = re.compile(r"\w{81,}")
_COMMENT = re.compile(r"#+[ \t]*([^\n]{3,})|(?:\"\"\"|''')(.{3,600}?)(?:\"\"\"|''')", re.DOTALL)
_MARKS = re.compile(r"\*+|`+|~~")
_STRAIGHT = str.maketrans(
    dict.fromkeys("\u2018\u2019", "'")
    | dict.fromkeys("\u201c\u201d", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | {"\u2192": ">", "\u00a0": " "}
)


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of the answer in which patterns are looked for."""

    text: str
    """Without marks, with straight quotes and plain dashes."""
    quotes: tuple[tuple[int, str], ...]
    """Where each of its sentences begins in ``text``, and the sentence as it stands."""

    def quote(self, position: int) -> str:
        """The sentence, word for word, that holds a position of ``text``."""
        return self.quotes[self._index(position)][1]

    def around(self, position: int) -> tuple[int, int]:
        """Where the sentence that holds a position of ``text`` begins and ends in it."""
        index = self._index(position)
        after = self.quotes[index + 1][0] if index + 1 < len(self.quotes) else len(self.text)
        return self.quotes[index][0], after

    def _index(self, position: int) -> int:
        return max(bisect_right([start for start, _ in self.quotes], position) - 1, 0)


@lru_cache(maxsize=16)
def read_answer(answer: str, known: str = "") -> "AnswerReading":
    """The reading of an answer; the same one for all who look at it one after the other."""
    return AnswerReading(answer, known=known)


class AnswerReading:
    """One answer, taken apart once for all criteria."""

    def __init__(self, answer: str, *, known: str = "") -> None:
        """``known``: the user's message; its sentences are not the answer's when repeated."""
        self._answer = answer[:_MOST]
        self._known = {_same(s) for s in _sentences(known)} if known else set()

    def places(self, within: Within) -> tuple[Place, ...]:
        """Everywhere that a signal of this kind is looked for."""
        match within:
            case "sentence":
                return self.sentences
            case "passage":
                return self._passages
            case "text":
                return (_joined(self._prose),)
            case "code":
                return (self._code,)

    @cached_property
    def sentences(self) -> tuple[Place, ...]:
        """Sentences of the prose, then comments of the code."""
        return (*self._prose, *self._comments)

    @cached_property
    def _split(self) -> tuple[str, str]:
        return _apart(self._answer)

    @cached_property
    def _prose(self) -> tuple[Place, ...]:
        found = _sentences(self._split[0])
        return tuple(
            Place(_plain(said), ((0, said),))
            for said in found
            if _same(said) and _same(said) not in self._known
        )

    @cached_property
    def _comments(self) -> tuple[Place, ...]:
        found = (next(filter(None, m.groups())) for m in _COMMENT.finditer(self._split[1]))
        return tuple(Place(_plain(said), ((0, said.strip()),)) for said in found)

    @cached_property
    def _passages(self) -> tuple[Place, ...]:
        prose = self._prose
        ends = range(min(_PASSAGE, len(prose)), len(prose) + 1)
        windows = [_joined(prose[max(0, end - _PASSAGE) : end]) for end in ends]
        return (*windows, *self._comments)

    @cached_property
    def _code(self) -> Place:
        lines = [line for line in self._split[1].splitlines() if line.strip()]
        return _joined(tuple(Place(_short_words(line), ((0, line.strip()),)) for line in lines))


def _apart(answer: str) -> tuple[str, str]:
    """The prose with an empty line for each code block, and all code."""
    lines = answer.splitlines()
    code: list[str] = []
    for block in fenced_blocks(answer):
        held = block.content.count("\n")
        code.append(block.content)
        for index in range(block.line - 1, min(len(lines), block.line + held + 1)):
            lines[index] = ""
    return "\n".join(lines), "\n".join(code)


def _sentences(prose: str) -> Iterator[str]:
    """Each sentence as it stands; list items and table rows stand alone."""
    for block in _units(prose):
        if block.lstrip().startswith("|"):
            yield block.strip()
            continue
        start = 0
        for end in [*(m.end() for m in _SENTENCE_END.finditer(block)), len(block)]:
            if not _closes(block[start:end]) and end < len(block):
                continue
            for cut in range(start, end, _LONGEST):
                if said := block[cut : min(end, cut + _LONGEST)].strip():
                    yield said
            start = end


def _closes(sentence: str) -> bool:
    """Whether a sentence may end here: not within brackets, and not at ``1.``."""
    return sentence.count("(") <= sentence.count(")") and not re.fullmatch(
        r"\s*(?:[-*#>\s]*\d{1,3}[.):])\s*", sentence
    )


def _units(prose: str) -> Iterator[str]:
    """Paragraphs, list items, headings and table rows."""
    held = ""
    for line in prose.splitlines(keepends=True):
        if not line.strip() or _NEW_UNIT.match(line):
            if held:
                yield held
            held = line if line.strip() else ""
        else:
            held += line
    if held:
        yield held


def _joined(places: tuple[Place, ...]) -> Place:
    text, quotes, at = [], [], 0
    for place in places:
        text.append(place.text)
        quotes.append((at, place.quotes[0][1]))
        at += len(place.text) + 1
    return Place("\n".join(text), tuple(quotes) or ((0, ""),))


def _plain(said: str) -> str:
    return " ".join(_short_words(_MARKS.sub("", said.translate(_STRAIGHT))).split())


def _short_words(text: str) -> str:
    """A word of a thousand letters has a thousand ends at which a pattern may try to go on."""
    return _LONG_WORD.sub(lambda match: match[0][:80], text)


def _same(said: str) -> str:
    return re.sub(r"\W+", " ", said).strip().casefold()
