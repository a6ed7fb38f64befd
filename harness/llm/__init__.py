"""Language models, asked: one client, its retries and limits, and what all of it costs."""

from harness.llm.client import Anthropic, ClientLimits
from harness.llm.meter import CostMeter
from harness.llm.prices import Price, Prices, load_prices

__all__ = ["Anthropic", "ClientLimits", "CostMeter", "Price", "Prices", "load_prices"]
