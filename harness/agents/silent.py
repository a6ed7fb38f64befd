"""A model that must not be asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.domain.model import Completion, Tool, Turn, Unavailable


@dataclass(frozen=True, slots=True)
class SilentModel:
    """Stands for a model that must not be asked."""

    name: str
    """The model's."""

    def complete(
        self,
        system: str,  # noqa: ARG002 (whatever is asked)
        turns: Sequence[Turn],  # noqa: ARG002 (whatever is asked)
        *,
        max_tokens: int,  # noqa: ARG002 (whatever is asked)
        tools: Sequence[Tool] = (),  # noqa: ARG002 (whatever is asked)
    ) -> Completion:
        """Answer nothing.

        Raises:
            Unavailable: always.
        """
        raise Unavailable("interrupted", f"{self.name} was not to be asked")
