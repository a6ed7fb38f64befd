"""``python -m harness``.

Python looks for modules in the folder that it is run in first, and that may be somebody else's
repository: a ``yaml.py`` there would run in this process. So that folder is left out before anything is
imported, unless it is this tree's own.
"""

import os  # both are there before any module is looked for
import sys

try:
    _PLACE = os.getcwd()  # noqa: PTH109 - pathlib would be looked for there
except OSError:  # it is gone
    _PLACE = ""
_LOOKED_IN = __name__ == "__main__" and not sys.flags.safe_path and sys.path[:1] == [_PLACE]
if _LOOKED_IN and __file__.rpartition("/harness/")[0] != _PLACE:
    del sys.path[0]

import resource  # noqa: E402 - not before
import signal  # noqa: E402 - not before
import traceback  # noqa: E402 - not before

from harness.collecting import collect_seldom, uncollected  # noqa: E402 - not before

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_ENDS = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def main() -> None:
    """Run the command line and leave with its exit code."""
    _open_what_is_closed()
    try:
        _take_every_end_as_ctrl_c()
        code = _run()
    except KeyboardInterrupt:  # before a command has begun
        code = 130
    for number in _ENDS:  # nothing is left to interrupt, and the code is known
        signal.signal(number, signal.SIG_IGN)
    if code == 130:
        # A thread that still waits for a killed jail would hold the interpreter at its exit.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _open_what_is_closed() -> None:
    """A standard stream that is closed (``2>&-``) leaves its number to the next pipe, and what a child
    writes to "standard error" goes there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - it has no name


def _take_every_end_as_ctrl_c() -> None:
    """``kill``, ``timeout`` and a terminal that closes: what was finished is told and stored then too.
    Not where somebody asked for the signal to be ignored (``nohup``).
    """
    for number in _ENDS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _run() -> int:
    try:
        with uncollected():
            from harness.cli import run_command_line  # spawned workers import this, not the CLI
        collect_seldom()
    except Exception as error:  # noqa: BLE001 - ours, unless memory is what lacks
        limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
        if not (limited and _lacks_memory(error)):
            traceback.print_exc()
            return 3
        sys.stderr.write("harness: ulimit -v leaves too little memory for this process to begin\n")
        return 2
    return run_command_line(sys.argv[1:])


def _lacks_memory(error: Exception) -> bool:
    """By its text as well: a library that does not fit is an ImportError. Where nothing at all is left
    the interpreter cannot even say so, and gives a SystemError.
    """
    marks = ("failed to map segment", "annot allocate memory", "can't start new thread")
    return isinstance(error, MemoryError | SystemError) or any(mark in str(error) for mark in marks)


if __name__ == "__main__":
    main()
