"""The command line of a program that takes its words without a parser: ``sys.argv[1]``."""

from typing import Any

from harness.sandbox.absent.lent import lend
from harness.sandbox.machine.arguments import PLACE


class CommandLine(list[str]):
    """What a program was started with. A word that it takes for granted is the name of a file."""

    def __getitem__(self, index: Any) -> Any:
        """``len`` says what is there, so that whoever asks first gets nothing that is lent."""
        if isinstance(index, int) and index >= len(self):
            lend(f"sys.argv[{index}]: {PLACE}")
            return PLACE
        return super().__getitem__(index)
