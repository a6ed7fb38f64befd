"""Language models, asked: two providers, retries and limits, and what all of it costs."""

from harness.llm.client import Anthropic
from harness.llm.meter import CostMeter
from harness.llm.prices import Price, Prices, load_prices
from harness.llm.remote import ClientLimits

__all__ = ["Anthropic", "ClientLimits", "CostMeter", "Price", "Prices", "load_prices"]
