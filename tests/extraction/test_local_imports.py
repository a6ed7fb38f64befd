"""Imports from modules that only the reader of an answer has."""

import pytest

from harness.extraction.local_imports import without_local_imports


@pytest.mark.parametrize(
    "statement",
    [
        "from models import build_model",
        "from .nets import Net",
        "from utils.data import get_loader",
        "from config import cfg",
        "from my_project.train import step",
    ],
)
def test_names_of_the_readers_modules_are_left_free(statement):
    """As a comment, so that other lines keep their numbers."""
    assert without_local_imports(f"{statement}\nx = 1\n") == f"# {statement}\nx = 1\n"


@pytest.mark.parametrize(
    "statement",
    [
        "from torch.utils.data import DataLoader",
        "from transformers import Trainer",
        "from datasets import load_dataset",
        "from utils import *",
        "import models",
        "from accelerate.utils import set_seed",
    ],
)
def test_packages_stay(statement):
    assert without_local_imports(statement) == statement


def test_what_does_not_parse_stays():
    assert without_local_imports("from models import (") == "from models import ("
