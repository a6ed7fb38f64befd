"""Parts of a model that are in evaluation, in the real jail: which of them stay there."""

import pytest

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.oracle.measure import measure
from harness.properties.learning import training_mode_kept
from tests.sandbox.recorder.test_schedules_and_losses import PROBE, WORKLOAD, run

PROGRAM = """
import torch
from torch import nn

class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.teacher = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 3))
        self.norm = nn.BatchNorm1d(8)
        self.net = nn.Linear(8, 3)
        {frozen}

    def forward(self, x):
        with torch.no_grad():
            told = self.teacher(x)
        return self.net(self.norm(x)) + told

student = Student()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
{before}
for epoch in range(2):
    student.train()
    {after}
    for x, y in train_loader:
        optimizer.zero_grad()
        student(x).pow(2).mean().backward()
        optimizer.step()
    {between}
"""
TAKEN_BACK = {
    "a teacher": {"frozen": "self.teacher.requires_grad_(False).eval()"},
    "a teacher that is used without gradient": {"before": "student.teacher.eval()"},
    "batch norm": {"before": "student.norm.eval()"},
}
FROZEN = "self.teacher.requires_grad_(False)"
KEPT = {
    "a frozen teacher in evaluation": {"frozen": FROZEN, "after": "student.teacher.eval()"},
    "a frozen teacher that follows the student": {
        "frozen": FROZEN,
        "between": "[p.data.mul_(0.9) for p in student.teacher.parameters()]",
    },
    "a frozen part through which gradients flow": {"frozen": "self.net.requires_grad_(False)"},
    "none": {},
    "the whole, for a validation": {"between": "student.eval(); student(x)"},
    "a teacher, anew in each pass": {
        "before": "student.teacher.eval()", "after": "student.teacher.eval()",
    },
    "a part that is trained": {"before": "student.net.eval()"},
    "a part that was called in evaluation": {"before": "student.norm.eval()(torch.ones(2, 8))"},
}  # fmt: skip


def judged(executor, case):
    parts = {"frozen": "", "before": "", "after": "", "between": ""} | case
    recording = run(executor, PROGRAM.format(**parts))
    probe = measure(recording, WORKLOAD, PROBE, Expectations())
    return training_mode_kept.judge(Trace(probes=(probe,)), Expectations())


@pytest.mark.parametrize("case", TAKEN_BACK)
def test_a_part_whose_evaluation_mode_was_taken_back_before_it_was_called_is_wrong(executor, case):
    verdict = judged(executor, TAKEN_BACK[case])

    assert verdict.outcome == "fail"
    assert "had no effect" in verdict.sentence


def test_a_frozen_teacher_that_nobody_puts_into_evaluation_is_wrong(executor):
    verdict = judged(executor, {"frozen": FROZEN, "between": "student.net(x)"})

    assert verdict.outcome == "fail"
    assert "the frozen Sequential was called in training mode" in verdict.sentence


@pytest.mark.parametrize("case", KEPT)
def test_a_mode_that_was_in_effect_or_that_nothing_depends_on_is_right(executor, case):
    assert judged(executor, KEPT[case]).outcome == "pass"
