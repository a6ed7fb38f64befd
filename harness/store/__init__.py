"""Runs on disk: a folder with ``run.json``, ``answers.jsonl`` and ``traces/``."""

from harness.store.folder import RunFolder, is_run

__all__ = ["RunFolder", "is_run"]
