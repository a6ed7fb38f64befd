"""``cache``: answers that were paid for, and are kept."""

import json
import time
from typing import Annotated

import typer

from harness.cli.app import JsonOption, app
from harness.report.console import Output

DAY = 24 * 3600.0


@app.command(epilog="Example: harness cache --older-than 30")
def cache(
    *,
    older_than: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="DAYS", help="Remove answers that are older.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say how many answers of asked agents are kept, where, and how large they are."""
    from harness.agents.cache import Cache, default_cache

    kept = Cache(default_cache())
    removed = kept.prune(time.time() - older_than * DAY) if older_than is not None else 0
    answers = kept.answers()
    size = sum(answer.size for answer in answers)
    oldest = _days(answers[0].kept_at) if answers else 0
    if as_json:
        found = {"folder": str(kept.folder), "answers": len(answers), "bytes": size}
        Output().text(json.dumps(found | {"removed": removed, "oldest_days": oldest}))
        return
    said = f"{_counted(len(answers), 'answer')}, {size / 1e6:.1f} MB, in {kept.folder}"
    Output().text(f"{said}; the oldest is {_counted(oldest, 'day')} old" if answers else said)
    if older_than is not None:
        Output().text(f"removed {_counted(removed, 'answer')}")


def _days(moment: float) -> int:
    return int((time.time() - moment) / DAY)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
