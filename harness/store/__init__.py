"""Runs on disk: a folder with ``run.json``, ``answers.jsonl`` and ``traces/``."""

from harness.store.folder import RunFolder, is_run
from harness.store.shards import load_run, shards_in

__all__ = ["RunFolder", "is_run", "load_run", "shards_in"]
