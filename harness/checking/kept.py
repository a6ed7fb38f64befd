"""Results of blocks that were run before, and what the last run of a skill said.

A result is kept by all that it depends on: the block, what it takes from its page, what its author says
of it, how much time it has, this harness and every package that is installed.
"""

import hashlib
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

import harness
from harness.agents.cache import Cache, default_cache, key_of
from harness.checking.session import Session
from harness.domain.check import BlockResult, ChangedSince, PartResult, Status
from harness.domain.record import Record
from harness.domain.skill import Example

DAYS = 30
"""Results that nobody has made anew for so long are removed."""
_BUSY = "while it had the processor"
"""How a run is told that was ended before it had had its time of a processor."""


class _Result(Record):
    parts: tuple[PartResult, ...]
    line: int


class _Block(Record):
    digest: str
    place: str
    status: Status


class _Last(Record):
    blocks: tuple[_Block, ...]


@dataclass(frozen=True, slots=True)
class KeptResults:
    """What was found before."""

    cache: Cache
    """Where it is kept."""

    def result(self, example: Example, key: str) -> BlockResult | None:
        """The result of a block, at its place; ``None`` where it was never run."""
        found = self.cache.get(key, _Result)
        if found is None:
            return None
        result = BlockResult(
            file=example.file,
            position=example.position,
            line=found.line,
            end=found.line + example.end - example.line,
            digest=example.digest,
            headings=example.headings,
            parts=found.parts,
        )
        return result.moved_to(example)

    def keep(self, key: str, result: BlockResult) -> None:
        """Keep a result, unless it hung on how busy this machine was."""
        if not any(_BUSY in part.sentence for part in result.parts):
            self.cache.put(key, _Result(parts=result.parts, line=result.line))

    def since_last(
        self, folder: Path, blocks: Sequence[BlockResult]
    ) -> tuple[ChangedSince, ...] | None:
        """What differs from the last run on this folder, which this one now is; ``None`` for none."""
        key = key_of(last=str(folder.resolve()))
        last = self.cache.get(key, _Last)
        now = _Last(
            blocks=tuple(_Block(digest=b.digest, place=b.place, status=b.status) for b in blocks)
        )
        self.cache.put(key, now)
        self.cache.prune(time.time() - DAYS * 24 * 3600)
        if last is None:
            return None
        before = {block.digest: block.status for block in last.blocks}
        return tuple(
            ChangedSince(place=b.place, before=before.get(b.digest), after=b.status)
            for b in blocks
            if before.get(b.digest) != b.status
        )


def kept_results(*, fresh: bool) -> KeptResults:
    """Those of this user. ``fresh``: nothing of them is used.

    Raises:
        UsageError: there is no home folder.
    """
    return KeptResults(Cache(default_cache().parent / "checks", fresh=fresh))


def result_key(example: Example, session: Session, *, seconds: float | None) -> str:
    """By what its result is kept."""
    return key_of(
        parts=[part.model_dump(mode="json", exclude={"line"}) for part in _unplaced(example)],
        programs=[
            session.program(example, part, lend=lend).text
            for part in example.parts
            if part.flaw is None
            for lend in (False, True)
        ],
        said=[*example.headings, example.before, str(example.warned)],
        seconds=seconds,
        versions=_versions(),
    )


def _unplaced(example: Example) -> list[Record]:
    """Its parts without the lines on which they stand."""
    return [
        part.model_copy(
            update={"mark": part.mark and part.mark.model_copy(update={"line": 0}), "line": 0}
        )
        for part in example.parts
    ]


@cache
def _versions() -> str:
    """This harness, Python, and every package."""
    folder = Path(harness.__file__).parent
    own = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".txt", ".yaml"):
            own.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    names = sorted(f"{d.name} {d.version}" for d in distributions())
    return f"{own.hexdigest()} {platform.python_version()} {names}"
