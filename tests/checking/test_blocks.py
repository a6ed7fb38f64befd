"""Labels of the Python blocks of the two documents that this project started from."""

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from harness.markdown import Fence, fenced_blocks
from tests.checking.conftest import ROOT

BLOCKS = yaml.safe_load((ROOT / "tests/material/blocks.yaml").read_text())
WITH_PARTS = [block for block in BLOCKS if "parts" in block]
SEEDS = ROOT.parent / "shared" / "seeds"
DOCUMENTS = ("gradient_management_SKILL.md", "gradient_stabilization_guide.md")

CLAIMS = {"right", "wrong", "better", "suboptimal", "none"}
KINDS = {
    "training-loop", "function", "loss", "module", "measurement", "configuration", "scheduler",
    "fragment", "pseudo",
}  # fmt: skip
PLACES = {None, "mark", "sentence", "heading"}
TRUTHS = ("wrong", "harmless-imprecise", "not-executable", "right")
"""Worst first."""

beside_the_documents = pytest.mark.skipif(
    not SEEDS.is_dir(), reason="the source documents are not beside the project"
)


def name(block: dict) -> str:
    return f"{block['file']}-{block['block']}"


@cache
def python_blocks(document: Path) -> list[Fence]:
    return [b for b in fenced_blocks(document.read_text()) if b.language == "python"]


def reasons() -> Iterator[str]:
    """Every sentence of our own in the labels."""
    for block in BLOCKS:
        yield from (labelled["why"] for labelled in (block, *block.get("parts", ())))


def test_every_label_gives_a_reason():
    """A sentence, for the block and for each of its parts."""
    assert [why for why in reasons() if not re.fullmatch(r"\S.{10,}\.", why)] == []


def test_labels_use_known_words():
    for block in BLOCKS:
        known = block["claim"] in CLAIMS and block["kind"] in KINDS and block["truth"] in TRUTHS
        assert known, name(block)
        assert block.get("read_from") in PLACES, name(block)
        assert block["claim"] == "none" or "read_from" in block, name(block)
        for part in block.get("parts", ()):
            assert part["claim"] in CLAIMS | {"statement"}, name(block)


def test_a_block_is_as_true_as_its_worst_part():
    for block in WITH_PARTS:
        worst = min((part["truth"] for part in block["parts"]), key=TRUTHS.index)
        assert block["truth"] == worst, name(block)


@beside_the_documents
@pytest.mark.parametrize("document", DOCUMENTS)
def test_labels_cover_exactly_the_python_blocks(document):
    found = [
        (position, hashlib.sha256(block.content.encode()).hexdigest()[:16], block.line)
        for position, block in enumerate(python_blocks(SEEDS / document))
    ]
    labelled = [(b["block"], b["hash"], b["line"]) for b in BLOCKS if b["file"] == document]
    assert labelled == found


@beside_the_documents
def test_parts_lie_within_their_block():
    for block in WITH_PARTS:
        fence = python_blocks(SEEDS / block["file"])[block["block"]]
        inside = range(fence.line + 1, fence.line + 1 + fence.content.count("\n"))
        for first, last in (part["lines"] for part in block["parts"]):
            assert first in inside, name(block)
            assert last in inside[first - inside.start :], name(block)


@beside_the_documents
def test_labels_repeat_no_line_of_the_documents():
    """Seven words in a row would be a quotation."""
    texts = [" ".join(words((SEEDS / document).read_text())) for document in DOCUMENTS]
    runs = [
        " ".join(spoken[start : start + 7])
        for spoken in map(words, reasons())
        for start in range(len(spoken) - 6)
    ]
    assert [run for run in runs if any(run in text for text in texts)] == []


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
