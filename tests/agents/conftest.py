"""One scenario to ask about."""

from pathlib import Path

import pytest

from harness.domain.scenario import Scenario
from harness.scenarios import load_bank
from tests.fakes.bank import FakeBank


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    """It is called toy-loss and asks "Is this right?"."""
    (scenario,) = load_bank(FakeBank(tmp_path / "bank").add().folder).scenarios
    return scenario
