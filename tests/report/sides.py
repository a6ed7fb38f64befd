"""Stored answers with chosen words, for tests of what is shown of them."""

from collections.abc import Mapping

from harness.domain.answer import Alternative, AnswerGrade
from harness.domain.assessment import CriterionState, Rationalized
from harness.domain.grade import Code, Grade
from harness.domain.model import NoAnswer
from harness.domain.quality import MutantResult, OperatorSeen, QualityReport
from harness.domain.stored import RunHead, SkillUsed, StoredAnswer
from harness.domain.trace import Trace
from harness.domain.transcript import Message, ToolCall, Transcript
from harness.domain.verdict import Number, Verdict, failed, passed
from harness.report.reported import Report, ReportSide
from tests.fakes.traces import probe, rank, scenario, trace, update

HOSTILE = (
    "<script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'>",
    "</code></pre></details></main><h1>broken",
    '[click](javascript:window.owned=3) <a href="javascript:window.owned=4">here</a>',
    "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x1b[2J \x9b31m \u202egnp.exe",
    "{{ 7 * 7 }} {% raw %} ${7*7} <!-- ]]> --><svg/onload=window.owned=5>",
    '" autofocus onfocus="window.owned=6" x="',
)
"""What a transcript may hold."""

PROGRAM = "for x, y in loader:\n    criterion(model(x), y).backward()\n    optimizer.step()\n"

WRONG = failed(
    "clip-before-step",
    "In loud, update 0 the optimizer consumed norm 17.1, threshold 1.",
    Number(name="consumed norm", value=17.1, where="loud, update 0"),
    Number(name="loss", value=float("nan")),
)
RIGHT = passed("clip-before-step", "Every update was clipped.")
LOST = failed("no-batch-lost", "Two batches never reached the optimizer.")


def grade(code: Code, *verdicts: Verdict) -> Grade:
    """A grade in which ``no-batch-lost`` is advisory."""
    return Grade(
        scenario="toy",
        agent="a",
        code=code,
        verdicts=verdicts,
        advisory=("no-batch-lost",),
        reason=None,
        seconds=0.25,
    )


def answer(code: Code = "wrong", said: str = "", **changed: object) -> StoredAnswer:
    """An answer with one program, said in its first Python block."""
    graded = AnswerGrade(
        file=f"{code}.md",
        scenario="toy",
        alternatives=(
            Alternative(
                origin="answer, Python block 1",
                program=PROGRAM,
                as_run=f"# model: model\n{PROGRAM}",
                grade=grade(code, WRONG if code == "wrong" else RIGHT, LOST),
                story=("loud, update 0", "4 x forward, backward", "SGD.step"),
            ),
        ),
        criteria={
            "says-why": CriterionState(
                state="met",
                polarity="must",
                quote="because it is late",
                decided_by="text",
            )
        },
        rationalizations=(
            Rationalized(excuse="it works", instead="it does not", quote="It works."),
        ),
    )
    fields = {"key": f"{code}{said}", "agent": "a", "answer": graded, "transcript": talk(said)}
    return StoredAnswer.model_validate({**fields, **changed}, from_attributes=True)


def talk(said: str) -> Transcript:
    """A question, and an answer of words, a program, other code and a tool."""
    code = f"Take this.\n\n```python\n{PROGRAM}```\n\nNot this:\n\n```python\nprint('old')\n```\n"
    call = ToolCall(id="1", name="bash", input=f"ls {said}", status="ok", result=said)
    return Transcript(
        messages=(
            Message(role="user", text="Why does it not learn?"),
            Message(role="assistant", text=f"{said}\n\n{code}", calls=(call,)),
        ),
        agent="model-7",
    )


def unanswered() -> StoredAnswer:
    """The server was overloaded."""
    graded = AnswerGrade(file="toy/1", scenario="toy", error="no answer: overloaded")
    why = NoAnswer(kind="overloaded", sentence="overloaded")
    return StoredAnswer(key="toy/1", agent="a", answer=graded, no_answer=why)


def hostile() -> StoredAnswer:
    """Every field that a model or a file can fill holds what it should not."""
    everything = "\n".join(HOSTILE)
    whole = answer("wrong", everything)
    (alternative,) = whole.answer.alternatives
    bad = Verdict(property="clip-before-step", outcome="fail", sentence=everything)
    evil = alternative.model_copy(
        update={
            "program": PROGRAM + everything,
            "as_run": everything,
            "story": (everything, everything),
            "origin": everything,
            "grade": grade("wrong", bad),
        }
    )
    criterion = CriterionState(
        state="not_met", polarity="must", quote=everything, reason=everything
    )
    graded = whole.answer.model_copy(
        update={
            "file": everything,
            "alternatives": (evil,),
            "criteria": {everything: criterion},
            "rationalizations": (Rationalized(excuse=everything, instead="", quote=everything),),
        }
    )
    return whole.model_copy(update={"answer": graded, "agent": everything})


def head(**changed: object) -> RunHead:
    """Of a run of one model with a skill."""
    same = {
        "kind": "agent",
        "harness_version": "1",
        "torch_version": "2",
        "bank_digest": "abc",
        "judge": "none",
        "agent": "anthropic:m",
        "skill": SkillUsed(name="s", digest="d" * 20, delivery="tool"),
    }
    return RunHead.model_validate({**same, **changed})


def side(name: str, *answers: StoredAnswer, asked: str = "toy") -> ReportSide:
    """A side with these answers to one scenario, each judged by the same trace."""
    trials: Mapping[int, StoredAnswer] = dict(enumerate(answers, start=1))
    return ReportSide(
        name, head(), {asked: trials}, lambda stored: (seen(),) * len(stored.answer.alternatives)
    )


def seen() -> Trace:
    """A probe on one rank that was not clipped, with an overflow, and one on two ranks."""
    loud = [update(i, true=n, consumed=n) for i, n in enumerate((5.0, 6.0, 7.0))]
    loud.append(update(3, matches=(), consumed_norm=float("nan"), consumed_finite=False))
    ranks = [rank([update(i, rounds=4.0) for i in range(3)], number=n) for n in range(2)]
    return trace(probe("loud", *loud), probe("spread", ranks=ranks))


def report(*sides: ReportSide, **changed: object) -> Report:
    """What is shown of them, with a scenario that clips at 1."""
    return Report(sides, {"toy": scenario(["clip-before-step"])}, **changed)


def quality() -> QualityReport:
    """One fault in two places: two properties notice it in the one, none in the other."""
    noticed = MutantResult(
        scenario="toy",
        program="reference",
        operator="drop-clip",
        site=1,
        line=1,
        fate="killed",
        killed_by=("clip-before-step", "still-learns"),
    )
    other = noticed.model_copy(update={"site": 2, "fate": "survived", "killed_by": ()})
    return QualityReport(
        harness_version="0",
        bank_digest="0",
        scenarios=("toy",),
        operators=(OperatorSeen(id="drop-clip", fault="no clip", named_by=("clip-before-step",)),),
        mutants=(noticed, other),
        alternatives=(),
        cheats=(),
        idle=(),
        seconds=1.0,
    )
