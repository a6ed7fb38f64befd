"""``report`` and ``view``: stored runs as pages for people, XML and JSON for programs."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import BankOption, TrustOption, app, trusted, valued, write_file
from harness.cli.arms import arms_below
from harness.cli.reporting import MOST_DRAWN, Format, written_report
from harness.domain.errors import UsageError
from harness.report.console import Output


@app.command(epilog="Example: harness report runs/monday -o report.html")
def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="A stored run, or two, the old one first; or what compare --out wrote.",
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The file to write.", show_default="standard output"
        ),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="What to write; benchmark: benchmark.json.")
    ] = "html",
    quality: Annotated[
        Path | None,
        valued(metavar="FILE", help="Add the kill matrix in this file, written by quality --json."),
    ] = None,
    pictures: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Draw pictures for so many programs, wrong ones first.",
        ),
    ] = MOST_DRAWN,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
) -> None:
    """Show a stored run, or two side by side: a page for people, XML or JSON for programs."""
    trusted(bank, trust=trust_bank)
    chosen = arms_below(runs)
    if len(chosen) > 2:
        named = f": name two of {', '.join(map(str, chosen))}" if chosen != runs else ""
        raise UsageError(f"report shows one run or two side by side, not {len(chosen)}{named}")
    written = written_report(chosen, form, bank, quality, pictures)
    if out is None:
        Output().text(written.rstrip("\n"))
        return
    write_file(out, written)
    size = -(-len(written.encode()) // 1000)
    Output(stderr=True).text(f"harness: {out} is written, {size:,} kB")


@app.command(epilog="Example: harness view runs")
def view(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that holds stored runs.")
    ],
    *,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, metavar="N", help="The port; 0 takes any that is free."),
    ] = 8765,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
) -> None:
    """Show stored runs in a browser: newest first, one alone or two side by side."""
    trusted(bank, trust=trust_bank)
    from harness.cli.serving import HERE, serving

    with serving(folder, port, bank) as server:
        address = f"http://{HERE}:{server.server_port}/"
        try:
            Output().text(f"stored runs in {folder}: {address}  (Ctrl-C ends it)")
            server.serve_forever()
        except KeyboardInterrupt:
            Output(stderr=True).text("harness: ended")
