"""The page that lists stored runs, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from harness.domain.stored import RunHead
from harness.report.html.page import style, templates


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A stored run in the list."""

    name: str
    """Path below the folder that is looked at."""
    when: str
    """Time of its last answer, as text."""
    said: str
    """How many answers were what; or why it cannot be read."""
    head: RunHead | None = None
    """How it was made; ``None`` when it cannot be read."""

    @property
    def address(self) -> str:
        """Where its report is."""
        return f"/run?name={quote(self.name, safe='')}"


def render_index(folder: str, entries: Sequence[RunEntry]) -> str:
    """The whole page."""
    return templates().get_template("index.html").render(folder=folder, entries=entries, **style())


def render_problem(sentence: str) -> str:
    """What could not be shown, in one sentence."""
    return templates().get_template("problem.html").render(sentence=sentence, **style())
