"""The table of names: spellings of one name mean one thing."""

import pytest

from harness.sandbox.names.table import table, words


@pytest.mark.parametrize(
    "name", ["train_loader", "trainLoader", "self.train_loader", "loader2", "TrainLoader"]
)
def test_spellings_of_a_name_mean_the_same(name):
    assert table().role(name) == "loader"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("ddp_model", "model"), ("student", "model"), ("teacher_model", "other model"),
        ("loss_fn", "criterion"), ("opt", "optimizer"),
        ("accum_steps", "accumulation"), ("gradient_accumulation_steps", "accumulation"),
        ("max_grad_norm", "max norm"), ("n_epochs", "epochs"), ("lr_scheduler", "scheduler"),
        ("val_loader", "validation"), ("labels", "target"), ("input_ids", "input"),
        ("logits", "output"), ("get_batch", "source"), ("is_main_process", "main process"),
    ],
)  # fmt: skip
def test_the_names_that_posted_code_uses_are_in_the_table(name, role):
    assert table().role(name) == role


def test_a_name_that_is_in_no_table_has_no_role():
    assert table().role("quux") is None


def test_digits_and_owners_are_no_words_of_a_name():
    assert words("self.net_2") == ("net",)
