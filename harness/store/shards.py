"""A folder whose folders are shards of one run (``grade --shard I/N --out DIR/I``), read as that run."""

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from harness.domain.errors import UsageError
from harness.domain.stored import RunHead, StoredAnswer
from harness.domain.trace import Trace
from harness.store.folder import RunFolder, is_run


class ShardedRun(RunFolder):
    """Several runs that were made the same way, for reading. Of a key told twice the last counts."""

    def __init__(self, folder: Path, shards: Sequence[RunFolder]) -> None:
        """Use ``load_run``."""
        self.folder = folder
        self.head = shards[0].head.model_copy(update={"shard": _united(shards)})
        self._shards = tuple(shards)
        self._holders = {key: shard for shard in shards for key in shard.keys}

    @property
    def keys(self) -> Collection[str]:
        """Of all answers, shard by shard."""
        return self._holders

    def __getitem__(self, key: str) -> StoredAnswer:
        return self._holders[key][key]

    def traces(self, stored: StoredAnswer) -> tuple[Trace, ...]:
        """The traces of an answer, from the shard that holds it."""
        return self._holders[stored.key].traces(stored)

    def close(self) -> None:
        """Close all of them."""
        for shard in self._shards:
            shard.close()


def shards_in(folder: Path) -> list[Path]:
    """The runs of a folder that is none itself."""
    if is_run(folder) or not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if is_run(path))


def load_run(folder: Path) -> RunFolder:
    """Read a run, or all shards of one.

    Raises:
        UsageError: there is none, this version cannot read it, or its runs are not parts of one.
    """
    places = shards_in(folder)
    if not places:
        return RunFolder.load(folder)
    with ExitStack() as opened:
        shards = [opened.enter_context(RunFolder.load(place)) for place in places]
        for shard in shards:
            _refuse_strangers(shards[0], shard)
        opened.pop_all()
    return ShardedRun(folder, shards)


def _united(shards: Sequence[RunFolder]) -> str | None:
    """The parts that are here."""
    said = [head.shard.split("/") for shard in shards if (head := shard.head).shard is not None]
    if not said:
        return None
    here = sorted({int(number) for numbers, _ in said for number in numbers.split(",")})
    return f"{','.join(map(str, here))}/{said[0][1]}"


def _refuse_strangers(one: RunFolder, other: RunFolder) -> None:
    ours, theirs = (_of_one_run(run.head) for run in (one, other))
    differs = [
        name for name in RunHead.model_fields if getattr(ours, name) != getattr(theirs, name)
    ]
    if differs or one.head.kind != "grade":
        why = f"they differ in {', '.join(differs)}" if differs else "they are no shards"
        raise UsageError(
            f"{one.folder.parent}: expected one stored run, or shards of one; "
            f"of {one.folder.name} and {other.folder.name}: {why}"
        )


def _of_one_run(head: RunHead) -> RunHead:
    """What all shards of a run have in common."""
    parts = head.shard.split("/")[1] if head.shard is not None else None
    return head.model_copy(update={"shard": parts})
