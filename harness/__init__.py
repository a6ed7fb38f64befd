"""Judge a skill for coding agents by executing what the skill makes agents do.

The pipeline, drawn in ``docs/architecture.md`` and written as code in ``harness.runner``::

    Scenario --ask--> Transcript --extract--> Candidate --execute--> Recording
       |                  |                        --measure--> Trace --judge--> Verdicts --+
       |                  |                                                                 |
       +-- rubric --------+--assess--> Assessments -----------------------------------------+
                                                                                            |
                                                      report, compare <-- Run <-- Grade <---+

What is imported from here is documented and stays::

    import harness

    with harness.Grader() as grader:            # its jail and its oracle stay warm
        grade = grader.grade("train.py")        # a path, the text of an answer, a transcript
    grade.code, grade.reasons, grade.verdicts, grade.program

``check`` executes a skill's examples, ``compare`` holds two stored runs against each other,
``load_bank`` reads scenarios, ``read`` turns any log of an agent into transcripts.
"""

TYPE_CHECKING = False  # typing's own would be looked for in the folder that `python -m` is run in
if TYPE_CHECKING:
    from harness.interface import Grader, check, compare
    from harness.scenarios import load_bank
    from harness.transcripts import read

__version__ = "0.1.0"

__all__ = ["Grader", "__version__", "check", "compare", "load_bank", "read"]

_HOMES = {
    "Grader": "harness.interface",
    "check": "harness.interface",
    "compare": "harness.interface",
    "load_bank": "harness.scenarios",
    "read": "harness.transcripts",
}
"""Where each name lives. It is imported when it is first asked for, so ``--help`` stays quick."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
