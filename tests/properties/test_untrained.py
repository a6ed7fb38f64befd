"""What a program lacks that ran to its end and trained nothing."""

import pytest

from harness.domain.branch import Unentered
from harness.properties.own.lacking import lacking
from harness.properties.own.untrained import why_untrained
from tests.fakes.traces import backward, probe, program, rank, trace

LOSS = "def smooth(logits, target):\n    return logits.sum()\n"
NET = "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"
STEP = "        loss.backward()\n        optimizer.step()\n"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (
            LOSS,
            "It holds no training loop: it only defines `smooth`; add the loop that trains with it.",
        ),
        (
            LOSS + NET,
            (
                "It holds no training loop: it only defines `smooth` and `Net`; add the loop that trains "
                "with them."
            ),
        ),
        (
            LOSS + NET + "def a(): ...\ndef b(): ...\ndef c(): ...\n",
            (
                "It holds no training loop: it only defines `smooth`, `Net` and 3 more; add the loop that "
                "trains with them."
            ),
        ),
        (
            "optimizer = torch.optim.AdamW(model.parameters())\nscheduler.step()\n",
            (
                "It holds no training loop: it makes an optimizer (`AdamW`) that nothing steps; add the "
                "loop that trains."
            ),
        ),
        ("print(torch.ones(3))\n", "It holds no training loop; add the loop that trains."),
        (
            f"def main():\n    for x in data:\n{STEP}",
            "Its training is in `main`, which nothing calls; add the line `main()`.",
        ),
        (
            f"def train(model, data, lr=1.0):\n    for x in data:\n{STEP}",
            "Its training is in `train`, which nothing calls; add the line `train(model, data)`.",
        ),
        (
            f"class Team:\n    def fit(self, data):\n{STEP}",
            "Its training is in `Team.fit`, which nothing calls; add the lines that call it.",
        ),
        (
            f"def step(x):\n    if x:\n{STEP}def main():\n    step(0)\n",
            "Its training is in `main`, which nothing calls; add the line `main()`.",
        ),
        (
            f"for i in range(3):\n    if i == 9:\n{STEP}",
            (
                "It ran to its end and made no optimizer step; see whether line 4, which trains, is "
                "reached."
            ),
        ),
        (
            f"def main():\n    for x in data:\n{STEP}main()\n",
            (
                "It ran to its end and made no optimizer step; see whether line 4, which trains, is "
                "reached."
            ),
        ),
        ("for x in (:", "It made no optimizer step; add the loop that trains."),
        (
            "trainer.fit(model)\n",
            "It ran to its end and made no optimizer step; see whether line 1, which trains, is reached.",
        ),
    ],
)
def test_what_is_not_there_is_named_in_words_that_fit(program, why):
    assert why_untrained(program) == why


@pytest.mark.parametrize(
    ("unentered", "why"),
    [
        (
            (Unentered(first=8, last=8, touches=("step",)),),
            (
                "Gradients were computed, and line 8, which steps, was never reached; see under which "
                "condition it runs."
            ),
        ),
        (
            (),
            "Gradients were computed 1 time, and no parameter of a torch.nn.Module was seen to be",
        ),
    ],
)
def test_a_step_that_was_never_reached_is_named_where_gradients_were_computed(unentered, why):
    seen = probe(
        "as-it-is",
        ranks=[rank(backwards=(backward(0),))],
        program=program(unentered=unentered),
    )

    assert lacking(trace(seen), ()).startswith(why)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            "`a.csv` is a file that is not here",
            "`a.csv` is a file that is not here; put it where the program looks for it.",
        ),
        (
            "`a.csv` is a file that is not here, and what was lent by chance does not fit (3 rows)",
            (
                "`a.csv` is a file that is not here, and what was lent by chance does not fit (3 rows); "
                "put it where the program looks for it."
            ),
        ),
        ("`x` needs flashy, which is not here", "`x` needs flashy, which is not here."),
        ("`x` is a package that is not here", "`x` is a package that is not here."),
        ("`x` is used in no way", "define `x`: it is used in no way."),
    ],
)
def test_the_one_thing_to_add_is_a_file_a_package_or_a_name(said, why):
    seen = probe("as-it-is", program=program(outcome="unbound", message=said))

    assert lacking(trace(seen), ()) == why
