"""The report as one HTML file: no network, readable without scripts, everything escaped."""

from harness.report.html.index import RunEntry, render_index, render_problem
from harness.report.html.page import render_page

__all__ = ["RunEntry", "render_index", "render_page", "render_problem"]
