"""What tokens cost, from a table that is data."""

import re
from functools import cache
from importlib.resources import files

import yaml

from harness.domain.record import Record
from harness.domain.transcript import Usage

_MILLION = 1_000_000
_DATED = re.compile(r"-\d{8}$")


class Price(Record):
    """US dollars for a million tokens."""

    input: float
    """Read, not from the cache."""
    output: float
    """Written, thinking included."""
    cache_write: float
    """Read and put into the cache."""
    cache_read: float
    """Read from the cache."""

    def of(self, usage: Usage) -> float:
        """What these tokens cost, in US dollars."""
        return (
            usage.input * self.input
            + usage.output * self.output
            + usage.cache_write * self.cache_write
            + usage.cache_read * self.cache_read
        ) / _MILLION


class Prices(Record):
    """The table."""

    date: str
    """When the prices were looked up."""
    source: str
    """Where they were looked up."""
    models: dict[str, Price]
    """By the model's name without a date."""

    def of(self, model: str) -> Price | None:
        """The price of a model; ``None`` when the table does not have it."""
        return self.models.get(model) or self.models.get(_DATED.sub("", model))


@cache
def load_prices() -> Prices:
    """The table that comes with the harness."""
    table = yaml.safe_load(files("harness.llm").joinpath("prices.yaml").read_text("utf-8"))
    return Prices.model_validate({**table, "date": str(table["date"])})
