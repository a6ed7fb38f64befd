"""A worker that only runs the program: it stands in for the recorder in tests of the transport.

The program finds ``job``, ``rank``, ``world_size``, ``channel``, ``wait(seconds)`` and ``report(**facts)`` in its globals. What it leaves in ``escaped`` is reported, what it raises is
reported as ``raised`` and ``message``, and what it leaves in ``escape`` is raised out of here.
"""

import functools
import json
import threading

from harness.sandbox.channel import Channel
from harness.sandbox.job import Job
from harness.sandbox.leader import Work


def begin(channel: Channel) -> Work:
    """Nothing to prepare."""
    return functools.partial(_work, channel)


def _work(channel: Channel, job: Job, rank: int, world_size: int) -> None:
    """Run the program once."""

    def report(**facts: object) -> None:
        channel.send("fact", json.loads(json.dumps(facts, default=str)))

    names = {
        "__name__": "__main__",
        "job": job,
        "rank": rank,
        "world_size": world_size,
        "channel": channel,
        "report": report,
        "wait": threading.Event().wait,
    }
    try:
        exec(compile(job.program, "<program>", "exec"), names)
    except BaseException as error:  # noqa: BLE001 - SystemExit included, it is data here
        report(raised=type(error).__name__, message=str(error))
    if "escaped" in names:
        report(escaped=names["escaped"])
    if "escape" in names:
        raise names["escape"]
