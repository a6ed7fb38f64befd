"""Verdicts do not turn with what is installed: without the extras an answer that needs one is inconclusive."""

import re
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.corpora.grading import graded_together
from tests.corpora.manifest import ANSWERS, Answer

EXTRAS = (
    "transformers",
    "accelerate",
    "lightning",
    "pytorch_lightning",
    "lightning_fabric",
    "datasets",
)
NAMED = re.compile(rf"(?:from|import) (?:{'|'.join(EXTRAS)})\b")
DECIDED = {"right", "wrong"}


def asking() -> list[Answer]:
    """Answers whose code imports one of them."""
    return [a for a in ANSWERS if NAMED.search(a.path.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment like this one, without the extras."""
    folder = tmp_path_factory.mktemp("bare")
    here = Path(sysconfig.get_path("purelib"))
    there = folder / here.relative_to(Path(sys.prefix))
    there.mkdir(parents=True)
    for entry in here.iterdir():
        if entry.name.partition(".")[0].partition("-")[0] not in EXTRAS:
            (there / entry.name).symlink_to(entry)
    (folder / "pyvenv.cfg").write_text((Path(sys.prefix) / "pyvenv.cfg").read_text())
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to(Path(sys.executable).resolve())
    return str(folder / "bin/python")


@pytest.mark.full
def test_without_the_extras_no_verdict_is_the_opposite(bare):
    answers = asking()
    with graded_together(answers, python=bare) as batch:
        found = {a.name: (a.label, batch.verdict(a)) for a in answers}

    turned = {
        name: line["why"]
        for name, (label, line) in found.items()
        if line["code"] in DECIDED - {label}
    }
    assert not turned
    assert any("needs " in " ".join(line["why"]) for _, line in found.values())
