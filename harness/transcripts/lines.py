"""Files of one JSON object a line: what cannot be read is counted, and the rest goes on."""

from collections.abc import Iterator

from pydantic import JsonValue

from harness.domain.transcript import Unreadable
from harness.transcripts.source import Source
from harness.transcripts.values import parsed


class Records:
    """All objects of a file, in order."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._broken: list[int] = []
        self._long = 0
        self._cut_off = False

    def __iter__(self) -> Iterator[dict[str, JsonValue]]:
        for line in self._source.lines():
            if line.content is None:
                self._long += 1
                continue
            if not line.content.startswith(b"{"):  # what a program printed in between
                self._bad(line.number, ended=line.ended)
                continue
            value = parsed(line.content.decode("utf-8", "replace"))
            if isinstance(value, dict):
                yield value
            else:
                self._bad(line.number, ended=line.ended)

    def notes(self) -> Iterator[str]:
        """What was left out, one sentence each."""
        if self._cut_off:
            yield "The last line is cut off."
        if self._broken:
            count, where = len(self._broken), ", ".join(map(str, self._broken[:3]))
            yield f"{count} lines hold no JSON object and were left out (line {where})."
        if self._long:
            yield f"{self._long} lines were too long to read."

    def _bad(self, number: int, *, ended: bool) -> None:
        if ended:
            self._broken.append(number)
        else:
            self._cut_off = True


def nothing_in(source: Source, expected: str) -> Unreadable:
    """The result for a file in which nobody says anything."""
    return Unreadable(
        file=source.name, expected=expected, sentence="it holds no message that anybody wrote"
    )
