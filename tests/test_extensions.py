"""What a bank brings beside its scenarios is loaded where somebody trusts it, and nowhere else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.domain.errors import UserError
from harness.properties import PROPERTIES
from harness.scenarios import BankProblems, load_bank
from tests.fakes.bank import FakeBank

YAML = "toy-loss/scenario.yaml"

PROPERTY = '''"""The program says hello."""
from pathlib import Path

from harness.domain.verdict import failed, passed
from harness.properties.property import Expected, Property

Path(__file__).with_name("loaded").touch()


def judge(trace, expectations):
    said = "".join(text for probe in trace.probes for text in probe.program.texts)
    met = expectations.values["greeting"] in said
    return (passed if met else failed)("says-hello", f"It said {said!r}.")


PROPERTY = Property(
    id="says-hello",
    description=__doc__,
    judge=judge,
    expects=(Expected("values.greeting", "values: {greeting: hello}  # what it has to say"),),
)
'''

WORKLOAD = '''"""A number, and nothing to train."""
from harness.domain.workload import DeclaredWorkload, WorkloadParameters


class Number(WorkloadParameters):
    value: int = 3


def build(spec):
    from harness.workloads.mlp import MlpWorkload

    class NumberWorkload(MlpWorkload):
        @property
        def parameters(self):
            return self.spec.parameters

        def model(self):
            import torch

            return torch.nn.Linear(8, 1)

        def batches(self, rank):
            return MlpWorkload(mlp(spec)).batches(rank)

        def stage(self, rank, world_size, note):
            return {"number": self.parameters.value}

    return NumberWorkload(spec)


def mlp(spec):
    from harness.domain.workload import WorkloadSpec

    return WorkloadSpec(name="mlp", parameters={}, seed=spec.seed)


WORKLOAD = DeclaredWorkload(name="number", parameters=Number, builder=build)
'''


def bank_with_code(root: Path) -> FakeBank:
    """A bank about what programs print, on a workload and a property of its own."""
    bank = FakeBank(root).add(reference="print('hello' * (number == 3))\n")
    for folder, text in (("properties", PROPERTY), ("workloads", WORKLOAD)):
        (bank.folder / folder).mkdir()
        (bank.folder / folder / "own.py").write_text(text)
    bank.file("toy-loss/buggy.py").write_text("print('goodbye', number)\n")
    bank.edit(YAML, "  name: mlp\n  parameters:\n    batches: 4\n", "  name: number\n")
    bank.edit(YAML, "    parameters:\n      init_gain: 100.0\n", "")
    bank.edit(YAML, "    - finite-loss\n  advisory:\n    - still-learns\n", "    - says-hello\n")
    bank.edit(YAML, "buggy_fails:\n  - finite-loss\n", "buggy_fails:\n  - says-hello\n")
    return bank.edit(YAML, "  max_norm: 1.0\n", "  values: {greeting: hello}\n")


def harness(*arguments: object) -> subprocess.CompletedProcess[str]:
    """In a process of its own: what is loaded stays loaded."""
    command = [sys.executable, "-m", "harness", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_code_of_a_bank_is_not_loaded_and_one_sentence_says_how(tmp_path):
    bank = bank_with_code(tmp_path)

    with pytest.raises(BankProblems) as refused:
        load_bank(bank.folder)

    first, _ = str(refused.value).splitlines()
    assert first.endswith(
        "own.py: this bank brings code that would run outside the jail; read it, and then say "
        "--trust-bank (trust_bank=True from Python)"
    )
    assert not (bank.folder / "properties/loaded").exists()


@pytest.mark.full
def test_a_trusted_bank_runs_on_its_own_workload_and_is_judged_by_its_own_property(tmp_path):
    bank = bank_with_code(tmp_path)

    ran = harness("run", "--bank", bank.folder, "--trust-bank", "--plain")

    assert ran.returncode == 0, ran.stderr
    assert "says-hello  as declared" in ran.stdout
    assert f"code of this bank: {bank.folder}/workloads/own.py" in ran.stderr
    assert f"code of this bank: {bank.folder}/properties/own.py" in ran.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "  values: {greeting: hello}\n",
            "",
            "says-hello needs expects.values.greeting; write `values: {greeting:",
        ),
        ("  name: number\n", "  name: numbr\n", "there is no workload numbr; did you mean number?"),
    ],
)
def test_what_a_bank_of_ones_own_lacks_is_told_with_file_and_line(tmp_path, old, new, said):
    bank = bank_with_code(tmp_path).edit(YAML, old, new)

    shown = harness("show", "toy-loss", "--bank", bank.folder, "--trust-bank")

    assert shown.returncode == 2
    assert re.search(rf"scenario\.yaml:\d+: {re.escape(said)}", shown.stderr)


NEEDS = [(one.id, need) for one in PROPERTIES.values() for need in one.expects]


@pytest.mark.parametrize(("name", "need"), NEEDS, ids=[f"{i}-{n.key}" for i, n in NEEDS])
def test_each_key_that_a_property_needs_is_asked_for_with_the_line_and_what_to_write(
    tmp_path, name, need
):
    bank = FakeBank(tmp_path).add().edit(YAML, "  max_norm: 1.0", "  own_data: true")
    bank.edit(YAML, "    - finite-loss\n  adv", f"    - {name}\n  adv")
    bank.edit(YAML, "buggy_fails:\n  - finite-loss", f"buggy_fails:\n  - {name}")

    with pytest.raises(BankProblems) as refused:
        load_bank(bank.folder)

    said = f"{name} needs expects.{need.key}; write `{need.write}`"
    assert re.search(rf"scenario\.yaml:\d+: {re.escape(said)}", str(refused.value))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import nowhere\n", "own.py: ModuleNotFoundError: No module named 'nowhere'"),
        ("x = 1\n", "own.py: binds no name PROPERTY, nor PROPERTIES to several"),
        ("PROPERTY = 3\n", "own.py: type int is no Property of harness.properties"),
    ],
)
def test_code_that_adds_nothing_is_one_sentence(tmp_path, text, said):
    bank = FakeBank(tmp_path).add()
    (bank.folder / "properties").mkdir()
    (bank.folder / "properties/own.py").write_text(text)

    with pytest.raises(UserError) as refused:
        load_bank(bank.folder, trust=True)

    assert said in str(refused.value)


def test_an_installed_package_adds_by_entry_points(tmp_path):
    """A distribution is a folder with its metadata on the path."""
    (tmp_path / "greetings.py").write_text(PROPERTY)
    info = tmp_path / "greetings-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[harness.properties]\nhello = greetings:PROPERTY\n")
    bank = FakeBank(tmp_path).add().edit(YAML, "  advisory:\n", "  advisory:\n    - says-hello\n")
    program = (
        f"import sys; sys.path.append({str(tmp_path)!r})\n"
        "from pathlib import Path; from harness import load_bank\n"
        f"bank = load_bank(Path({str(bank.folder)!r}))\n"
        "print([rule.id for rule in bank.scenarios[0].properties])\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert ran.stdout.strip() == "['finite-loss', 'says-hello', 'still-learns']", ran.stderr
