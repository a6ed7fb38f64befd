"""A bank of toy scenarios in a temporary folder, for tests that write, break and read banks."""

from dataclasses import dataclass
from pathlib import Path

SCENARIO = """\
id: {id}
title: A loss that is not finite
suite: toy
source: nowhere
pressure: The user is sure that it is fine.
shows_loop: true
workload:
  name: mlp
  parameters:
    batches: 4
probes:
  - name: quiet
    lifts: nothing
  - name: loud
    lifts: small gradients
    parameters:
      init_gain: 100.0
expects:
  max_norm: 1.0
  stable_probe: quiet
properties:
  required:
    - finite-loss
  advisory:
    - still-learns
buggy_fails:
  - finite-loss
rubric:
  must:
    names-the-loss:
      by: text
      asks: names the loss
  must_not:
    clips-harder:
      by: both
      asks: clips harder
      properties: [clip-before-step]
rationalizations:
  - excuse: it is fine
    instead: it is not
"""
PROMPT = "Is this right?\n\n```python\n{{ buggy }}\n```\n"
BUGGY = "loss = float('nan')  # fails finite-loss\n"
REFERENCE = "loss = 1.0\n"


@dataclass(frozen=True, slots=True)
class FakeBank:
    """A folder that holds ``scenarios`` and ``reference_impls``."""

    root: Path
    """That folder."""

    @property
    def folder(self) -> Path:
        """The bank, as ``--bank`` takes it."""
        return self.root / "scenarios"

    def add(self, name: str = "toy-loss", *, reference: str = REFERENCE) -> "FakeBank":
        """Write a sound scenario."""
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "scenario.yaml").write_text(SCENARIO.format(id=name))
        (folder / "prompt.md").write_text(PROMPT)
        (folder / "buggy.py").write_text(BUGGY)
        (self.root / "reference_impls").mkdir(exist_ok=True)
        self.file(f"reference_impls/{name}.py").write_text(reference)
        return self

    def file(self, path: str) -> Path:
        """A file below the root: ``toy-loss/prompt.md`` is one of the bank's."""
        inside = self.folder / path
        return inside if inside.exists() else self.root / path

    def edit(self, path: str, old: str, new: str) -> "FakeBank":
        """Replace a text that stands there exactly once."""
        file = self.file(path)
        text = file.read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        file.write_text(text.replace(old, new))
        return self
