"""What this machine offers to the jail, found out once in a child that is thrown away."""

import contextlib
import functools
import json
import os
import tempfile

from harness.sandbox.jail import JailPlan, JailPolicy, JailReport, enter
from harness.sandbox.jail.landlock_rules import find_rights
from harness.sandbox.jail.readable import Readable
from harness.sandbox.jail.seccomp_rules import general_filter
from harness.sandbox.job import JobLimits

_EXPENSIVE = (
    find_rights,
    functools.partial(general_filter, sockets=False),
    functools.partial(general_filter, sockets=True),
)


def probe_machine(readable: Readable, folder: str) -> JailReport:
    """Enter the whole jail in a fork and bring its report back."""
    for prepare in _EXPENSIVE:
        with contextlib.suppress(ImportError, RuntimeError, OSError):  # the report will say so
            prepare()
    scratch = tempfile.mkdtemp(dir=folder)
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        plan = JailPlan(
            scratch=scratch, readable=readable, limits=JobLimits(), ranks=True, policy=JailPolicy()
        )
        report = enter(plan, keep=(send,))
        os.write(send, json.dumps(report.to_json()).encode())
        os._exit(0)
    os.close(send)
    with open(receive, "rb") as file:
        raw = file.read()
    os.waitpid(pid, 0)
    os.rmdir(scratch)
    return JailReport.from_json(json.loads(raw))
