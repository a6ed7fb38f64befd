"""One property's verdict on a trace: completion included, explanations not."""

from typing import Any

from harness.domain.trace import Trace
from harness.domain.verdict import Verdict
from harness.properties import PROPERTIES
from harness.properties.completion import verdict
from tests.fakes.traces import expect


def on(name: str, seen: Trace, **expectations: Any) -> Verdict:
    """The verdict of the property of that name."""
    return verdict(PROPERTIES[name], seen, expect(**expectations))
