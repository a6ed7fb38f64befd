"""Where text goes: a terminal gets colours and boxes, a pipe lines, a closed pipe silence."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from harness.domain.errors import UserError, reason
from harness.domain.progress import Progress
from harness.report.words import clean

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


class Output(Console):
    """Standard output or standard error."""

    def __init__(self, *, stderr: bool = False, plain: bool = False) -> None:
        """``plain``: write to a terminal as into a pipe, without colours, boxes and wrapping."""
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)
        self.plain = plain or not self.is_terminal

    def show(self, renderable: RenderableType) -> None:
        """Print; plain lines are neither wrapped nor padded."""
        if self.plain:
            self.text(plain_text(renderable))
        else:
            with _bar_away(self):
                self.print(renderable)

    def text(self, text: str) -> None:
        """Write exactly this and a line end.

        Raises:
            UserError: standard output takes no more, as on a full disk.
        """
        try:
            with _bar_away(self):
                self.file.write(f"{clean(text)}\n")
                self.file.flush()
        except BrokenPipeError:
            self.on_broken_pipe()
        except OSError as error:
            self.on_broken_pipe()
            if not self.stderr:  # where a complaint cannot be written either, the exit code is left
                raise UserError(f"standard output cannot be written: {reason(error)}") from error

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """What rich makes of it, without characters that steer a terminal but rich's own."""
        for part in super().render(renderable, options):
            yield part if part.control else Segment(clean(part.text), part.style)

    def on_broken_pipe(self) -> None:
        """From now on write nothing: the reader has left (``| head``), and the exit code has to stay
        true.
        """
        self.quiet = True
        with suppress(OSError, ValueError):  # no descriptor behind it: nothing to redirect
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def plain_text(renderable: RenderableType) -> str:
    """Lines without colour, boxes, wrapping or trailing spaces."""
    page = Console(
        file=io.StringIO(), width=10_000, no_color=True, highlight=False, markup=False, emoji=False
    )
    with page.capture() as captured:
        page.print(renderable)
    return "\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


_BARS: "list[RichProgress]" = []
"""The bar that moves now, if any."""


@contextmanager
def _bar_away(output: Output) -> Iterator[None]:
    """Without a bar on the lines of a terminal that are written."""
    bars = [bar for bar in _BARS if output.is_terminal]
    for bar in bars:
        bar.stop()
    try:
        yield
    finally:
        for bar in bars:
            bar.start()


@contextmanager
def progress_bar(output: Output) -> Iterator[Callable[[Progress], None]]:
    """A bar with count, rate, time left and what runs now; nothing where there is no terminal."""
    if not output.is_terminal:
        yield lambda _: None
        return
    from rich import progress

    class Rate(progress.ProgressColumn):
        """Answers a minute, once a few are known."""

        def render(self, task: progress.Task) -> Text:
            return Text(f"{60 * task.speed:.0f}/min" if task.speed else "")

    columns = (
        progress.BarColumn(bar_width=24),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        Rate(),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.description}", markup=False),
    )
    with progress.Progress(*columns, console=output, transient=True) as bar:
        task = bar.add_task("starting torch", total=None)

        def draw(now: Progress) -> None:
            doing = ", ".join(now.running)
            bar.update(task, completed=now.done, total=now.total, description=doing)

        _BARS.append(bar)
        try:
            yield draw
        finally:
            _BARS.remove(bar)
