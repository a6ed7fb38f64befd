"""An agent that is a language model: the natural question first, then the wish for runnable code."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from harness.agents.agent import Unanswered
from harness.agents.cache import Cache
from harness.agents.delivery import DeliveredSkill
from harness.agents.prompting import prompts_version, runnable_form
from harness.agents.remembering import RememberingModel
from harness.agents.silent import SilentModel
from harness.agents.skill_text import MAIN
from harness.agents.turns import RUNNABLE_FORM_TURN
from harness.domain.model import Completion, LanguageModel, NoAnswer, Turn, Unavailable
from harness.domain.scenario import Scenario
from harness.domain.transcript import Fact, Message, ToolCall, Transcript, Usage
from harness.llm.meter import add

_MOST_ROUNDS = 12
_RESULT_KEPT = 400
_OWN_DOING = frozenset({"truncated", "refusal", "too_long", "bad_response"})


@dataclass(frozen=True, slots=True)
class ModelAgent:
    """Asks a model. Every answer, of either turn, is kept before the next is asked for."""

    provider: str
    """What stands before the model's name."""
    model: LanguageModel
    """Who answers."""
    delivered: DeliveredSkill
    """The skill."""
    max_tokens: int
    """The most that one answer may have, thinking included."""
    cache: Cache | None = None
    """Where answers are kept; ``None`` for nowhere."""
    apart: tuple[str, ...] = ()
    """Answers are kept apart from those with other words here."""
    close: Callable[[], None] = lambda: None
    """Breaks off what is under way, and asks nothing more."""

    @property
    def name(self) -> str:
        """``anthropic:MODEL``."""
        return f"{self.provider}:{self.model.name}"

    def ask(self, scenario: Scenario, trial: int = 1) -> Transcript:
        """Both turns. Where the model cannot finish the second one, the first stands alone."""
        model = self.model
        if self.cache is not None:
            model = RememberingModel(model, self.cache, trial, (*self.apart, scenario.id))
        talk = _Talk(model, self.delivered, self.max_tokens)
        try:
            talk.say(scenario.prompt)
            read_at_once = talk.read_main
            second = len(talk.messages)
            outcome = _second_turn(talk)
        except Unavailable as gone:
            raise Unanswered(_no_answer(gone, talk.usage)) from gone
        facts = {
            "model": talk.answered_by,
            "trial": str(trial),
            "prompts": prompts_version(),
            "max_tokens": str(self.max_tokens),
            "cost_usd": "unknown" if talk.cost is None else f"{talk.cost:.6f}",
            RUNNABLE_FORM_TURN: str(second),
            "runnable_form": outcome,
            **self._about_skill(talk, read_at_once=read_at_once),
        }
        return Transcript(
            messages=tuple(talk.messages),
            agent=self.name,
            scenario=scenario.id,
            facts=tuple(Fact(key=key, value=value) for key, value in facts.items()),
            usage=talk.usage,
        )

    def remembers(self, scenario: Scenario, trial: int) -> bool:
        """Whether both turns are kept, so that nothing would be asked."""
        try:
            replace(self, model=SilentModel(self.model.name)).ask(scenario, trial)
        except Unanswered:
            return False
        return True

    def _about_skill(self, talk: "_Talk", *, read_at_once: bool) -> dict[str, str]:
        skill = self.delivered.skill
        facts: dict[str, str] = {"delivery": self.delivered.kind}
        if skill is not None:
            facts |= {"skill": skill.name, "skill_digest": skill.digest}
        if self.delivered.kind == "tool":
            late = "late" if talk.read_main else "no"
            facts["skill_triggered"] = "yes" if read_at_once else late
            facts["skill_files_read"] = ", ".join(talk.files_read)
        return facts


def _second_turn(talk: "_Talk") -> str:
    """``given``, or why the model itself did not finish it."""
    try:
        talk.say(runnable_form())
    except Unavailable as gone:
        if gone.kind not in _OWN_DOING:
            raise
        talk.usage = add(talk.usage, gone.usage or Usage())
        talk.messages.append(Message(role="system", text=f"No answer: {gone.sentence}."))
        return gone.kind
    return "given"


def _no_answer(gone: Unavailable, before: Usage) -> NoAnswer:
    usage = add(before, gone.usage or Usage())
    return NoAnswer(kind=gone.kind, sentence=gone.sentence, usage=usage, said=gone.text)


@dataclass(slots=True)
class _Talk:
    """One conversation, as it grows."""

    model: LanguageModel
    delivered: DeliveredSkill
    max_tokens: int
    turns: list[Turn] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    files_read: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    answered_by: str = ""

    @property
    def read_main(self) -> bool:
        return MAIN in self.files_read

    def say(self, text: str) -> None:
        """Ask, and let the model use its tools until it has answered."""
        self.messages.append(Message(role="user", text=text))
        self.turns.append(Turn(role="user", text=text))
        for _ in range(_MOST_ROUNDS):
            answer = self._complete()
            if not answer.calls:
                self.messages.append(Message(role="assistant", text=answer.text))
                return
            self._use_tools(answer)
        raise Unavailable("bad_response", f"no answer after {_MOST_ROUNDS} rounds of calls")

    def _complete(self) -> Completion:
        answer = self.model.complete(
            self.delivered.system,
            tuple(self.turns),
            max_tokens=self.max_tokens,
            tools=self.delivered.tools,
        )
        self.turns.append(answer.as_turn())
        self.usage = add(self.usage, answer.usage)
        known = self.cost is not None and answer.cost is not None
        self.cost = (self.cost or 0.0) + (answer.cost or 0.0) if known else None
        self.answered_by = answer.model
        return answer

    def _use_tools(self, answer: Completion) -> None:
        calls, results = [], []
        for use in answer.calls:
            result, file = self.delivered.answer(use)
            results.append(result)
            if file is not None and file not in self.files_read:
                self.files_read.append(file)
            calls.append(
                ToolCall(
                    id=use.id,
                    name=use.name,
                    input=json.dumps(use.input, ensure_ascii=False)[:_RESULT_KEPT],
                    status="error" if result.failed else "ok",
                    result=result.content[:_RESULT_KEPT],
                )
            )
        self.messages.append(Message(role="assistant", text=answer.text, calls=tuple(calls)))
        self.turns.append(Turn(role="user", results=tuple(results)))
