"""The page of properties says what the code says."""

from pathlib import Path

from harness.properties import PROPERTIES
from harness.report.properties_page import render_properties_page

PAGE = Path(__file__).parents[2] / "docs" / "properties.md"


def test_the_committed_page_is_the_generated_one() -> None:
    """After a change of a property, ``make docs`` has to be run."""
    assert PAGE.read_text() == render_properties_page()


def test_every_property_has_a_claim_and_an_example_of_its_bug() -> None:
    """A property without a bug that breaks it would be a wish."""
    for judged in PROPERTIES.values():
        assert judged.claim.endswith("."), judged.id
        assert "Bug::" in judged.description, judged.id
