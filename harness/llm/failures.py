"""What the SDK raises, as an outcome of its own, and whether asking again may help."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

from harness.domain.model import Unavailable, UnavailableKind

_BY_STATUS: dict[int, UnavailableKind] = {
    400: "bad_request",
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "no_such_model",
    408: "timeout",
    413: "too_long",
    422: "bad_request",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_BY_TYPE: dict[str, UnavailableKind] = {
    "authentication_error": "authentication",
    "billing_error": "billing",
    "context_length_exceeded": "too_long",
    "insufficient_quota": "billing",
    "model_not_found": "no_such_model",
    "overloaded_error": "overloaded",
    "permission_error": "permission",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
}
_BATCHED: dict[str, UnavailableKind] = {
    "invalid_request_error": "bad_request",
    "not_found_error": "no_such_model",
    "request_too_large": "too_long",
}
PASSING: frozenset[UnavailableKind] = frozenset(
    {"overloaded", "rate_limited", "server_error", "timeout", "connection"}
)
_LONGEST_SENTENCE = 300


@dataclass(frozen=True, slots=True)
class SdkExceptions:
    """The exceptions of an SDK; those of both providers are made alike."""

    base: type[Exception]
    """All of them."""
    timeout: type[Exception]
    """No answer in time."""
    connection: type[Exception]
    """Nobody there."""
    status: type[Any]
    """An answer that is an error, with ``status_code``, ``response`` and ``message``."""
    credentials: tuple[type[Exception], ...] = ()
    """A broken account."""

    @classmethod
    def of(cls, sdk: ModuleType, base: type[Exception]) -> Self:
        """Those of this SDK."""
        credentials = getattr(sdk, "CredentialsError", None)
        return cls(
            base=base,
            timeout=sdk.APITimeoutError,
            connection=sdk.APIConnectionError,
            status=sdk.APIStatusError,
            credentials=(credentials,) if credentials else (),
        )


def unavailable(error: Exception, raised: SdkExceptions) -> Unavailable:
    """The outcome that an error of the SDK stands for."""
    if isinstance(error, raised.timeout):
        return Unavailable("timeout", "the model did not answer in time")
    if isinstance(error, raised.connection):
        cause = f" ({error.__cause__})" if str(error.__cause__ or "") else ""
        return Unavailable("connection", one_line(f"the provider cannot be reached{cause}"))
    if isinstance(error, raised.status):
        said = getattr(error, "api_message", None) or getattr(error, "message", str(error))
        return Unavailable(_kind(error), one_line(f"the provider answers {_status(error)}: {said}"))
    if isinstance(error, raised.credentials):
        return Unavailable("authentication", one_line(str(error)))
    return Unavailable("bad_response", one_line(f"the provider's answer makes no sense: {error}"))


def named(kind: str) -> UnavailableKind:
    """The outcome for a type of error that a result of a batch names; there is no status beside it."""
    return _BY_TYPE.get(kind) or _BATCHED.get(kind, "server_error")


def may_pass(error: Any, raised: SdkExceptions) -> bool:
    """Whether the same request may succeed a little later; the provider's own word counts most."""
    if isinstance(error, raised.status):
        asked = error.response.headers.get("x-should-retry")
        if asked in ("true", "false"):
            return bool(asked == "true")
        if error.status_code == 409:
            return True
    return unavailable(error, raised).kind in PASSING


def asked_pause(error: Any, raised: SdkExceptions) -> float | None:
    """How long the provider asks to wait, in seconds, where it does."""
    if not isinstance(error, raised.status):
        return None
    for header, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(error.response.headers.get(header, "")) / unit
        except ValueError:  # absent, or a date: our own pause does
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def one_line(text: str) -> str:
    """Somebody else's words as the part of a sentence."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_SENTENCE else f"{flat[:_LONGEST_SENTENCE]}..."


def _kind(error: Any) -> UnavailableKind:
    by_status = _BY_STATUS.get(error.status_code)
    by_type = _BY_TYPE.get(error.type or "") or _BY_TYPE.get(getattr(error, "code", None) or "")
    return by_type or by_status or ("server_error" if error.status_code >= 500 else "bad_request")


def _status(error: Any) -> str:
    return f"{error.status_code} {error.type}" if error.type else str(error.status_code)
