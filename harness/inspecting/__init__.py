"""For Inspect AI: tasks, a solver and a scorer, found through the entry point ``inspect_ai``.

::

    inspect eval harness/refactor --model openai/gpt-4o -T skill=skill/gradient-management

A task of your own takes the same parts::

    Task(dataset=..., solver=with_skill("skills/training"), scorer=code_right())
"""

from importlib.util import find_spec

from harness.domain.packages import how_to_get

if find_spec("inspect_ai") is None:
    raise ImportError(f"harness.inspecting {how_to_get(['inspect_ai'])}")

from harness.inspecting.scoring import code_right
from harness.inspecting.solving import with_skill
from harness.inspecting.tasks import bank, data_loading, pitfalls, refactor, techniques

__all__ = ["bank", "code_right", "data_loading", "pitfalls", "refactor", "techniques", "with_skill"]
