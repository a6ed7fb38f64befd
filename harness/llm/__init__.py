"""Language models, asked: one client, its retries and limits, and what all of it costs."""

from harness.llm.client import Anthropic, Limits
from harness.llm.meter import Meter
from harness.llm.prices import Price, Prices, load_prices

__all__ = ["Anthropic", "Limits", "Meter", "Price", "Prices", "load_prices"]
