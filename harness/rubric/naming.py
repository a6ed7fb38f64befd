"""From what stands behind ``--judge`` to a judge."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.domain.errors import UsageError
from harness.rubric.command import commanded
from harness.rubric.judge import NoJudge, TextJudge
from harness.rubric.model import ModelJudge
from harness.rubric.replay import RecordingJudge, replayed

if TYPE_CHECKING:
    from harness.llm import CostMeter
    from harness.llm.remote import RemoteModel

KINDS = "none, anthropic:MODEL, openai:MODEL, command:'...' or replay:DIR"
"""The judges that ``--judge`` takes, as a help text names them."""


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """How models and commands are asked."""

    votes: int = 1
    """Readings of each answer; an odd number has no draws."""
    seconds: float = 120.0
    """Seconds that a command may take for one question."""
    meter: "CostMeter | None" = None
    """Counts tokens and dollars, and keeps the limit."""
    record: Path | None = None
    """Folder in which a model's replies are kept for ``replay:DIR``; ``None``: they are not."""
    missing: list[str] | None = None
    """Where ``replay:DIR`` notes each reply that it lacks, and leaves open what that one decides;
    ``None``: the first one is an error.
    """


@contextmanager
def judge_named(spec: str = "none", judging: JudgingOptions | None = None) -> Iterator[TextJudge]:
    """The judge; leaving breaks off what it is still asking.

    Raises:
        UsageError: there is no such judge, or something that it needs is missing.
    """
    how = judging or JudgingOptions()
    kind, _, rest = spec.partition(":")
    if spec == "none":
        yield NoJudge()
    elif kind == "command" and rest:
        yield ModelJudge(spec, commanded(rest, how.seconds), how.votes)
    elif kind == "replay" and rest:
        yield ModelJudge(spec, replayed(Path(rest)), how.votes, how.missing)
    elif kind in ("anthropic", "openai") and rest:
        with _connected(kind, rest, how) as model:
            asked = RecordingJudge(model, how.record) if how.record is not None else model
            yield ModelJudge(spec, asked, how.votes)
    else:
        raise UsageError(f"--judge {spec}: no such judge; choose {KINDS}")


def _connected(provider: str, model: str, how: JudgingOptions) -> "RemoteModel":
    from harness.llm import Anthropic, CostMeter

    if provider == "anthropic":
        return Anthropic(model, how.meter or CostMeter())
    from harness.llm.openai_client import OpenAIModel  # an extra

    return OpenAIModel(model, how.meter or CostMeter())
