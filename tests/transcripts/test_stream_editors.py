"""What sed does to a text, beside the program itself where it is there."""

import shutil
import subprocess

import pytest

from harness.transcripts.sed import after_sed
from tests.transcripts.material import TEXT


@pytest.mark.parametrize(
    "script",
    [
        "s/max_norm=1.0/max_norm=0.5/",
        "/^    optimizer.zero_grad()$/d",
        r"s/^        optimizer.step()$/        optimizer.step()\n        optimizer.zero_grad()/",
        "5,7d",
        "/zero_grad/,/backward/d",
        "$d",
        "2,$s/o/0/g",
        r"s/\(loss\)\.backward()/scaler.scale(\1).backward()/",
        "s/clip_grad_norm_(model.parameters(), max_norm=1.0)/clip(net)/",
        r"/loss.backward/a\    print(loss)",
        r"/loss.backward/i\    print(loss)",
        "5c\\    pass",
        "s#/ steps##",
        "s/[[:space:]]*optimizer/X/",
        r"s/a\+/A/g",
        "s/LOSS/l/I",
        "/clip/!s/model/m/",
        "s/.*clip.*/& # clipped/",
        "/if/,+1d",
        "s/1/2/;s/2/3/",
        "5,3d",
    ],
)
@pytest.mark.skipif(shutil.which("sed") is None, reason="no sed to compare with")
def test_sed_is_followed_as_sed_does_it(script):
    done = subprocess.run(["sed", script], input=TEXT, capture_output=True, text=True, check=True)

    assert after_sed(script, TEXT) == done.stdout


@pytest.mark.parametrize(
    "script", [r"s/(loss)\.backward\(\)/scaler.scale(\1)/", r"s/(max_norm=)[0-9.]+/\15/"]
)
@pytest.mark.skipif(shutil.which("sed") is None, reason="no sed to compare with")
def test_sed_with_extended_patterns(script):
    command = ["sed", "-E", script]
    done = subprocess.run(command, input=TEXT, capture_output=True, text=True, check=True)

    assert after_sed(script, TEXT, "extended") == done.stdout


def test_a_pattern_that_would_take_years_is_given_up():
    slow = "s/" + r"\(.*\)" * 6 + "[12345]$/z/"

    assert after_sed(slow, "a1" * 300 + "b\n") is None
