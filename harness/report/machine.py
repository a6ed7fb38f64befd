"""What a machine offers, one line each."""

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from harness.domain.machine import Machine

_STYLES = {"yes": "green", "no": "red", "partly": "yellow"}


def render_machine(machine: Machine) -> RenderableType:
    """A table; at the end whether programs can be run."""
    columns = [Column(name, overflow="fold") for name in ("name", "have", "detail")]
    table = Table(*columns, box=None, pad_edge=False, show_header=False)
    for offer in machine.offers:
        table.add_row(offer.name, Text(offer.have, _STYLES[offer.have]), offer.detail)
    ready = machine.can_execute
    said = "Programs can be run here." if ready else "Programs cannot be run here."
    table.add_row("", "", "")
    table.caption = Text(said, "bold")
    table.caption_justify = "left"
    return table
