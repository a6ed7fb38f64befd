"""Models of the Anthropic API."""

import os
from collections.abc import Coroutine, Sequence
from typing import Any, ClassVar

import anthropic
from anthropic import omit

from harness.domain.errors import UsageError
from harness.domain.model import Completion, Tool, Turn, Unavailable
from harness.domain.transcript import Usage
from harness.llm.failures import SdkExceptions, one_line
from harness.llm.remote import RemoteModel, refuse_address
from harness.llm.wire import completion_of, messages_of, system_blocks, tools_of, understood

NO_KEY = (
    "ANTHROPIC_API_KEY is not set, and an agent or a judge of the Anthropic API was asked for; "
    "without a key these work: the agents buggy, reference, command:... and replay:DIR, "
    "harness grade, and harness compare of stored runs"
)


RAISED = SdkExceptions.of(anthropic, anthropic.AnthropicError)
"""What its SDK raises."""


class Anthropic(RemoteModel):
    """One model of the Anthropic API.

    ``ANTHROPIC_BASE_URL`` and the SDK's other ways to name an account are honoured.
    """

    raised: ClassVar[SdkExceptions] = RAISED

    def _connect(self, timeout: float) -> None:
        self._sdk = connected(timeout)

    def _request(
        self, system: str, turns: Sequence[Turn], tools: Sequence[Tool], max_tokens: int
    ) -> Coroutine[Any, Any, object]:
        return self._sdk.messages.create(
            model=self.name,
            max_tokens=max_tokens,
            system=system_blocks(system) or omit,
            messages=messages_of(turns),
            tools=tools_of(tools) or omit,
            timeout=self._limits.timeout,
        )

    def _read(self, reply: object) -> tuple[Usage, Completion | Unavailable]:
        answer = understood(reply)
        try:
            return answer.tokens, completion_of(answer, self.price)
        except Unavailable as broken:
            return answer.tokens, broken

    def _end(self) -> Coroutine[Any, Any, None]:
        return self._sdk.close()


def connected(timeout: float) -> anthropic.AsyncAnthropic:
    """The SDK with its key.

    Raises:
        UsageError: there is none, or an address that is none.
    """
    if address := os.environ.get("ANTHROPIC_BASE_URL"):
        refuse_address("ANTHROPIC_BASE_URL", address)
    try:
        sdk = anthropic.AsyncAnthropic(max_retries=0, timeout=timeout)
    except anthropic.CredentialsError as error:  # a profile is named, and it is broken
        raise UsageError(f"{NO_KEY} (the SDK also says: {one_line(str(error))})") from error
    if not (sdk.api_key or sdk.auth_token or sdk.credentials):
        raise UsageError(NO_KEY)
    key = sdk.api_key or sdk.auth_token or ""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError("ANTHROPIC_API_KEY holds a blank, a line end or a letter that no key has")
    return sdk
