"""Files that somebody already has."""

from harness.agents.given import GivenAnswers, RefusedFile, given_answers
from harness.extraction.assignment import Choice
from tests.bank import BANK


class BrokenChoice(Choice):
    """A part of ours that fails on one file."""

    def mapped(self, file: str) -> str | None:
        """Fail."""
        if file.endswith("broken.md"):
            raise RuntimeError("it broke")
        return "clip-after-step"


def test_a_reader_that_breaks_takes_no_other_file_along(tmp_path):
    """The batch went to its end without the answers that came after."""
    files = [tmp_path / name for name in ("one.md", "broken.md", "two.md")]
    for file in files:
        file.write_text("Use this:\n\n```python\nx = 1\n```\n")

    found = list(given_answers([str(f) for f in files], None, BANK, BrokenChoice()))

    assert [type(one) for one in found] == [GivenAnswers, RefusedFile, GivenAnswers]
    assert "it broke" in found[1].sentence
    assert "RuntimeError" in found[1].trace
