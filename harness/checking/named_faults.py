"""Which fault an author names where an example is marked wrong, and whether it is there. Pure.

Without this, an edit that repairs an example which is meant to be wrong would pass unnoticed.
"""

import ast
import re
from collections.abc import Iterator

from harness.checking.errors import of_the_machine
from harness.checking.evidence import Finding
from harness.checking.running import BlockRun
from harness.domain.skill import Part
from harness.domain.trace import Program
from harness.domain.verdict import Number
from harness.skills.python import parsed
from harness.skills.splitting import comments_of
from harness.syntax import walk

_NAMED = {
    "clip-before-step": r"clip\w* (?:comes |is )?(?:after|before backward)|too late|step has consumed",
    "clip-once-per-update": r"clip\w*.*(?:each|every) (?:micro-batch|accum)|clips the running sum",
    "unscaled-norm": r"not unscal|still scaled|scaled gradients|clips? before unscal",
    "scaler-protocol": r"bypass|optimizer\.step ignores|unscal\w* (?:twice|multiple|two)|second unscale",
    "accumulation-equals-large-batch": r"not (?:scal|divid)(?:ed|ing)|times (?:too|that of the) large",
    "every-parameter-learns": r"never steps|nothing (?:trains|learns)|does(?: not|n't) (?:train|learn)"
    r"|loses (?:the|all|its) gradients",
    "accumulation-not-wiped": r"(?:zeroing|zero_grad|clears?) (?:\w+ )*(?:inside|previous|before accum)",
    "gradients-start-fresh": r"never zeroed|forget\w* (?:to )?zero_grad|missing .*zero_grad|keep accum",
    "single-allreduce": r"sync\w* (?:on |at |after )?(?:each|every)|still synchronised",
    "ranks-agree": r"never synchronised|ranks part",
}
"""For words in an author's mark, the property that fails where the fault is present."""


def acquittal(part: Part, seen: BlockRun) -> Finding | None:
    """A finding where every fault that the mark names was looked for and none was found; else
    ``None``.
    """
    if part.mark is None or part.mark.polarity not in ("wrong", "suboptimal"):
        return None
    if _NOT_FINITE.search(part.mark.text) and (found := _finite(seen)) is not None:
        return found
    named = tuple(dict.fromkeys(_named(part)))
    if any("zero_grad before" in note for note in seen.program.bound):
        return None  # we clear for it
    verdicts = [seen.verdict(name) for name in named]
    passed = [v for v in verdicts if v is not None and v.outcome == "pass"]
    if not passed or len(passed) < len(named):
        return None
    sentence = f"It is marked wrong, and the fault that it names is not there: {passed[0].sentence}"
    return Finding(sentence, passed[0].numbers)


_NOT_FINITE = re.compile(r"gradients? (?:is|are|become|becomes|turn to) (?:nan|inf)", re.IGNORECASE)


def _finite(seen: BlockRun) -> Finding | None:
    """A finding where every gradient of every backward was a number."""
    called = [b for p in seen.trace.probes[:1] for r in p.ranks for b in r.backwards]
    if not called or not all(b.gradients_finite for b in called):
        return None
    number = Number(name="backwards with finite gradients", value=len(called))
    return Finding(
        "It is marked wrong by gradients that are no numbers, and all of them are: finite after "
        f"each of {len(called)} backwards.",
        (number,),
    )


_ERROR = re.compile(r"\b\w+(?:Error|Exception)\b|\braises\b|\bcrash(?:es)?\b")


_WITHIN = re.compile(r"(?:Error|Exception|crash(?:es)?)\b.*?\b(?:in|inside|from|during) `?(\w+)")
"""Where an error is said to come up: "TypeError in concatenate"."""


def no_error(part: Part, ended: Program) -> Finding | None:
    """A finding where an example is marked wrong because of an error, and it runs to its end. What
    a function would raise shows only where somebody calls it.
    """
    if part.mark is None or part.mark.polarity != "wrong" or ended.outcome != "returned":
        return None
    said = [c for c in (part.mark.text, *behind_what_runs(part.code).values()) if _ERROR.search(c)]
    if not said or "try:" in part.code or of_the_machine(f"{said[0]} {part.code}"):
        return None
    place, tree = _WITHIN.search(said[0]), parsed(part.code)
    if place and tree is not None and place[1] not in ast.unparse(tree):
        return None  # it comes later, or where nobody here looks
    return Finding(f'It is marked wrong by an error ("{said[0]}"), and none is raised.')


def behind_what_runs(code: str) -> dict[int, str]:
    """Comments behind statements that running the code executes, by their lines: not in definitions."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tree = parsed(code)
    inside = {
        line
        for node in (walk(tree) if tree is not None else ())
        if isinstance(node, kinds)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return {
        n + 1: text for n, text, alone in comments_of(code) if not alone and n + 1 not in inside
    }


def names_a_fault(part: Part) -> bool:
    """Whether its mark warns of something that a run of a loop shows."""
    wrong = part.mark is not None and part.mark.polarity in ("wrong", "suboptimal")
    return wrong and any(_named(part))


def _named(part: Part) -> Iterator[str]:
    said = part.mark.text if part.mark else ""
    return (name for name, pattern in _NAMED.items() if re.search(pattern, said, re.IGNORECASE))
