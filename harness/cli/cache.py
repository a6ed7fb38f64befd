"""``cache``: answers that were paid for, and are kept."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from harness.cli.app import JsonOption, app, valued
from harness.report.console import Output
from harness.report.words import text

if TYPE_CHECKING:
    from harness.agents.cache import KeptAnswer

DAY = 24 * 3600.0


@app.command(epilog="Example: harness cache --older-than 30")
def cache(
    *,
    older_than: Annotated[
        int | None,
        valued(metavar="DAYS", help="Remove answers that are older.", min=0),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the kept answers of asked agents, with their size, and remove old ones."""
    from harness.agents.batching import Journal
    from harness.agents.cache import Cache, default_cache

    kept = Cache(default_cache())
    removed = kept.prune(time.time() - older_than * DAY) if older_than is not None else 0
    answers = kept.answers()
    batches = len(Journal(kept.folder / "batches").every())
    if as_json:
        Output().text(json.dumps(_found(kept.folder, answers, removed, batches)))
        return
    output = Output()
    output.text(f"{_told(answers)}, in {kept.folder}")
    for who, group in _by_who(answers).items():
        output.show(text(f"    {who or 'not known'}: {_told(group)}"))
    if batches:
        under_way = "batch is" if batches == 1 else "batches are"
        output.text(
            f"{batches} {under_way} under way; the command that handed it in goes on with it"
        )
    if older_than is not None:
        output.text(f"removed {_counted(removed, 'answer')}")


def _found(
    folder: Path, answers: "Sequence[KeptAnswer]", removed: int, batches: int
) -> dict[str, object]:
    by = [
        {"who": who, "answers": len(group), "bytes": _size(group), "oldest_days": _oldest(group)}
        for who, group in _by_who(answers).items()
    ]
    found: dict[str, object] = {"folder": str(folder), "answers": len(answers)}
    found |= {"bytes": _size(answers), "removed": removed, "oldest_days": _oldest(answers)}
    return found | {"by": by, "batches": batches}


def _by_who(answers: "Sequence[KeptAnswer]") -> "dict[str, list[KeptAnswer]]":
    found: dict[str, list[KeptAnswer]] = {}
    for answer in answers:
        found.setdefault(answer.who, []).append(answer)
    return dict(sorted(found.items()))


def _told(answers: "Sequence[KeptAnswer]") -> str:
    said = f"{_counted(len(answers), 'answer')}, {_size(answers) / 1e6:.1f} MB"
    return f"{said}, the oldest {_counted(_oldest(answers), 'day')} old" if answers else said


def _size(answers: "Sequence[KeptAnswer]") -> int:
    return sum(answer.size for answer in answers)


def _oldest(answers: "Sequence[KeptAnswer]") -> int:
    return max((_days(answer.kept_at) for answer in answers), default=0)


def _days(moment: float) -> int:
    return int((time.time() - moment) / DAY)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
