"""What the programs fail that mutants are derived from: a mutant is blamed for the rest alone."""

from collections import defaultdict
from threading import Lock

from harness.domain.instruments import Instruments
from harness.domain.scenario import Scenario
from harness.quality.sources import NamedSource
from harness.quality.trial import JudgedTrial, try_program


class Originals:
    """Right programs, and what they fail, advisory properties included. Thread-safe."""

    def __init__(self, tools: Instruments) -> None:
        """``tools``: what runs them."""
        self._tools = tools
        self._told: dict[tuple[str, str], dict[str, str]] = {}
        self._locks: defaultdict[tuple[str, str], Lock] = defaultdict(Lock)

    def judge(self, scenario: Scenario, source: NamedSource) -> JudgedTrial:
        """Judge one for its own sake; who asks later what it fails need not run it."""
        with self._locks[scenario.id, source.name]:
            return self._judge(scenario, source)

    def told(self, scenario: Scenario, source: NamedSource) -> dict[str, str]:
        """What it fails without a mutation, and what is said of that, as in ``JudgedTrial.told``."""
        key = scenario.id, source.name
        with self._locks[key]:
            if key not in self._told:
                self._judge(scenario, source)
            return self._told[key]

    def _judge(self, scenario: Scenario, source: NamedSource) -> JudgedTrial:
        judged = try_program(scenario, source.text, self._tools)
        self._told[scenario.id, source.name] = judged.told
        return judged
