"""What a program does with what it is given: the instruction that comes next in its own code."""

import dis
import sys
from bisect import bisect_right
from functools import lru_cache
from types import CodeType, FrameType

FILENAME = "<candidate>"
"""File name of the program's code, as tracebacks show it."""

_STORES = frozenset({
    "STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF", "STORE_ATTR",
})  # fmt: skip
_UNPACK = dis.opmap["UNPACK_SEQUENCE"]


def unpacked_into(depth: int) -> int | None:
    """Into how many values the caller's caller takes apart what it is iterating over."""
    frame = sys._getframe(depth + 1)
    at, code = frame.f_lasti, frame.f_code.co_code
    return code[at + 1] if at >= 0 and code[at] == _UNPACK else None


def frame_of_the_program(start: int = 1) -> FrameType | None:
    """The innermost frame of the program's own code that is under way, in whichever of its files."""
    frame: FrameType | None = sys._getframe(start)
    while frame is not None and not frame.f_code.co_filename.startswith(FILENAME):
        frame = frame.f_back
    return frame


def line_of_program() -> int | None:
    """The line of the program's first file that is under way, from 1; ``None`` where none is."""
    frame = frame_of_the_program(2)
    while frame is not None and frame.f_code.co_filename != FILENAME:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else None


def called_by_a_library() -> bool:
    """Whether what calls a model is neither the program nor torch itself: a Trainer, say."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if frame.f_code.co_filename == FILENAME:
            return False
        if name.partition(".")[0] not in ("torch", "harness"):
            return True
        frame = frame.f_back
    return True


def _caller_of(frame: FrameType) -> FrameType | None:
    """What of the program a function hands its result to, be it through what was lent."""
    above = frame.f_back
    while above is not None and str(above.f_globals.get("__name__")).startswith("harness."):
        above = above.f_back
    return above if above and above.f_code.co_filename.startswith(FILENAME) else None


class ResultUse:
    """What becomes of the result of the call that is under way in a frame of the program."""

    def __init__(self, frame: FrameType | None) -> None:
        """Look at the instructions behind the call; without a frame nothing is known."""
        self.names: tuple[str, ...] = ()
        """Names that it is given to: one, or several where it is taken apart."""
        self.apart = False
        """Whether it is taken apart."""
        self.field: str | None = None
        """The attribute or text key that is read of it at once."""
        self.dropped = False
        """Whether nothing reads it."""
        while frame is not None:
            behind = _behind(frame.f_code, frame.f_lasti)
            self._read(behind)
            frame = _caller_of(frame) if behind[:1] == (("RETURN_VALUE", None),) else None

    def _read(self, behind: tuple[tuple[str, object], ...]) -> None:
        if not behind:
            return
        name, value = behind[0]
        self.dropped = name == "POP_TOP"
        if name == "UNPACK_SEQUENCE":
            self.apart = True
            self.names = _stored(behind[1:])[: int(value)]  # type: ignore[call-overload]  # a count
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            self.field = str(value)
        elif name == "LOAD_CONST" and isinstance(value, str) and behind[1:2]:
            self.field = value if behind[1][0] == "BINARY_SUBSCR" else None
        else:
            self.names = _stored(behind)[:1]


def _stored(behind: tuple[tuple[str, object], ...]) -> tuple[str, ...]:
    found: list[str] = []
    for name, value in behind:
        if name in _STORES:
            found.append(str(value))
        elif name.startswith("STORE_FAST_STORE_FAST") and isinstance(value, tuple):
            found += map(str, value)
        elif name in ("POP_TOP", "LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL") and name != "POP_TOP":
            continue  # `self.loss, self.out = ...` loads what it stores into
        else:
            break
    return tuple(found)


def _behind(code: CodeType, at: int) -> tuple[tuple[str, object], ...]:
    """What comes after the instruction at a place. A call that is carried out without leaving the
    interpreter stands at the end of its cache, which belongs to it.
    """
    places, behind = _following(code)
    place = bisect_right(places, at) - 1
    return behind[place] if place >= 0 else ()


@lru_cache(maxsize=64)
def _following(code: CodeType) -> tuple[list[int], list[tuple[tuple[str, object], ...]]]:
    """The places of all instructions, and for each the twelve behind it, caches left out."""
    plain = [i for i in dis.get_instructions(code) if i.opname not in ("CACHE", "NOP")]
    pairs = [(i.opname, i.argval) for i in plain]
    return [i.offset for i in plain], [tuple(pairs[n + 1 : n + 13]) for n in range(len(plain))]
