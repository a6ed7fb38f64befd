"""Labels of the Python blocks of the two documents that this project started from."""

import hashlib
import re
from collections.abc import Iterator
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
TRUTHS = ("wrong", "harmless-imprecise", "not-executable", "right")
"""Worst first."""

beside_the_documents = pytest.mark.skipif(
    not SEEDS.is_dir(), reason="the source documents are not beside the project"
)


def name(block: dict) -> str:
    return f"{block['file']}-{block['block']}"


def python_blocks(document: Path) -> list[Fence]:
    return [b for b in fenced_blocks(document.read_text()) if b.language == "python"]


def reasons() -> Iterator[str]:
    """Every sentence of our own in the labels."""
    for block in BLOCKS:
        yield from (labelled["why"] for labelled in (block, *block.get("parts", ())))


@pytest.mark.parametrize("block", BLOCKS, ids=name)
def test_every_label_gives_its_reason_and_uses_known_words(block):
    assert block["claim"] in CLAIMS
    assert block["kind"] in KINDS
    assert block.get("read_from") in {None, "mark", "sentence", "heading"}
    assert (block["claim"] == "none") or block["read_from"]
    for labelled in (block, *block.get("parts", ())):
        assert labelled["truth"] in TRUTHS
        assert labelled["claim"] in CLAIMS | {"statement"}
        assert re.fullmatch(r"\S.{15,}\.", labelled["why"])


@pytest.mark.parametrize("block", WITH_PARTS, ids=name)
def test_a_block_is_as_true_as_its_worst_part(block):
    assert block["truth"] == min((part["truth"] for part in block["parts"]), key=TRUTHS.index)


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
@pytest.mark.parametrize("block", WITH_PARTS, ids=name)
def test_parts_lie_within_their_block(block):
    fence = python_blocks(SEEDS / block["file"])[block["block"]]
    inside = range(fence.line + 1, fence.line + 1 + fence.content.count("\n"))
    for first, last in (part["lines"] for part in block["parts"]):
        assert first in inside
        assert last in inside
        assert first <= last


@beside_the_documents
def test_labels_repeat_no_line_of_the_documents():
    """Seven words in a row are a quotation."""
    texts = [" ".join(words((SEEDS / document).read_text())) for document in DOCUMENTS]
    runs = [
        " ".join(spoken[start : start + 7])
        for spoken in map(words, reasons())
        for start in range(len(spoken) - 6)
    ]
    assert [run for run in runs if any(run in text for text in texts)] == []


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
