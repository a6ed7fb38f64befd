"""A scenario as a listing names it, and one that is not run here."""

from pydantic import ConfigDict

from harness.domain.packages import Package
from harness.domain.record import Record


class ListedScenario(Record):
    """What a line of a listing says; the other keys of the file are for whoever runs it."""

    model_config = ConfigDict(extra="ignore")

    id: str
    """The name of its folder."""
    title: str
    """A few words for people."""
    suite: str
    """The group of scenarios that it is run with."""
    requires: tuple[Package, ...] = ()
    """Packages beyond torch that its programs import."""


class NotRun(Record):
    """One scenario that this machine cannot run, which says nothing about the scenario."""

    scenario: str
    """Its id."""
    why: str
    """What it needs, and how to get that."""
