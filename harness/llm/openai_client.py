"""Models behind the Chat Completions API: OpenAI's own, and whatever server speaks it."""

import os
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar

from harness.domain.errors import UsageError
from harness.domain.model import Completion, Tool, Turn, Unavailable
from harness.domain.packages import how_to_get
from harness.domain.transcript import Usage
from harness.llm.failures import SdkExceptions
from harness.llm.openai_wire import completion_of, messages_of, tools_of, understood
from harness.llm.remote import RemoteModel, refuse_address

try:
    import openai
except ImportError as error:
    raise UsageError(f"openai:MODEL {how_to_get(['openai'])}") from error

NO_KEY = (
    "OPENAI_API_KEY is not set, and openai:MODEL was asked for; a server of your own needs "
    "OPENAI_BASE_URL instead"
)


class OpenAIModel(RemoteModel):
    """One model. ``OPENAI_BASE_URL`` names another server, which need not want a key."""

    raised: ClassVar[SdkExceptions] = SdkExceptions.of(openai, openai.OpenAIError)

    def _connect(self, timeout: float) -> None:
        address, key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
        if address:
            refuse_address("OPENAI_BASE_URL", address)
        elif not key:
            raise UsageError(NO_KEY)
        # Servers of others know the older name of the limit; OpenAI's newer models refuse it.
        self._limit = "max_tokens" if address else "max_completion_tokens"
        self._sdk = openai.AsyncOpenAI(api_key=key or "none", max_retries=0, timeout=timeout)

    def _request(
        self, system: str, turns: Sequence[Turn], tools: Sequence[Tool], max_tokens: int
    ) -> Coroutine[Any, Any, object]:
        asked: dict[str, Any] = {"messages": messages_of(system, turns), self._limit: max_tokens}
        if tools:
            asked["tools"] = tools_of(tools)
        create: Any = self._sdk.chat.completions.create
        found: Coroutine[Any, Any, object] = create(model=self.name, **asked)
        return found

    def _read(self, reply: object) -> tuple[Usage, Completion | Unavailable]:
        answer = understood(reply)
        try:
            return answer.tokens, completion_of(answer, self.price)
        except Unavailable as broken:
            return answer.tokens, broken

    def _end(self) -> Coroutine[Any, Any, None]:
        closing: Coroutine[Any, Any, None] = self._sdk.close()
        return closing
