"""A sound bank becomes scenarios; everything else is a complaint with file and line."""

from pathlib import Path

import pytest

from harness.scenarios import BankProblems, load_bank
from tests.fakes.bank import BUGGY, REFERENCE, FakeBank

YAML = "toy-loss/scenario.yaml"


def complaints(folder: Path) -> list[str]:
    """What the loader says, one string a problem, with paths from the bank's parent."""
    with pytest.raises(BankProblems) as caught:
        load_bank(folder)
    return [str(error).removeprefix(f"{folder.parent}/") for error in caught.value.errors]


def test_a_sound_folder_becomes_a_scenario(tmp_path):
    """Everything the files say arrives: message rendered, programs as written, rules in order."""
    (scenario,) = load_bank(FakeBank(tmp_path).add().folder).scenarios

    assert scenario.prompt == f"Is this right?\n\n```python\n{BUGGY}```\n"
    assert (scenario.buggy, scenario.reference) == (BUGGY, REFERENCE)
    assert scenario.workload.parameters.batches == 4
    assert [(r.id, r.level) for r in scenario.properties] == [
        ("finite-loss", "required"),
        ("still-learns", "advisory"),
    ]
    assert [(c.id, c.polarity) for c in scenario.rubric] == [
        ("names-the-loss", "must"),
        ("clips-harder", "must_not"),
    ]


def test_a_reference_may_lie_in_the_scenarios_own_folder(tmp_path):
    """A bank can be folders and nothing else."""
    bank = FakeBank(tmp_path).add()
    bank.file("reference_impls/toy-loss.py").rename(bank.folder / "toy-loss/reference.py")

    assert load_bank(bank.folder).scenarios[0].reference == REFERENCE


def test_alternatives_and_cheats_go_by_the_names_of_their_files(tmp_path):
    """Alternatives and cheats need not be there; one that is no Python is a complaint."""
    bank = FakeBank(tmp_path).add()
    for path in ("alternatives/two.py", "alternatives/one.py", "cheats/exit.py"):
        (bank.folder / "toy-loss" / path).parent.mkdir(exist_ok=True)
        (bank.folder / "toy-loss" / path).write_text(f"name = {path!r}\n")
    (scenario,) = load_bank(bank.folder).scenarios

    assert [each.name for each in scenario.alternatives] == ["one", "two"]
    assert [each.program for each in scenario.cheats] == ["name = 'cheats/exit.py'\n"]

    (bank.folder / "toy-loss/cheats/exit.py").write_text("exit(\n")
    assert complaints(bank.folder)[0].startswith("scenarios/toy-loss/cheats/exit.py")


def test_scenarios_are_in_the_order_of_their_ids_within_a_suite(tmp_path):
    """The order does not depend on the file system."""
    bank = FakeBank(tmp_path).add("zebra").add("apple").add("mango")
    bank.edit("apple/scenario.yaml", "suite: toy", "suite: young")

    assert [s.id for s in load_bank(bank.folder).scenarios] == ["mango", "zebra", "apple"]


def test_the_digest_changes_with_any_file_and_with_nothing_else(tmp_path):
    """Two runs with one digest ran the same bank, wherever it lay."""
    one, other = FakeBank(tmp_path / "one").add(), FakeBank(tmp_path / "other").add()
    before = load_bank(one.folder).digest

    assert load_bank(other.folder).digest == before
    one.edit("reference_impls/toy-loss.py", "1.0", "2.0")
    assert load_bank(one.folder).digest != before


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("suite: toy", "suit: toy", 3, "suit is not a key; did you mean suite?"),
        ("    batches: 4", "    batchs: 4", 10, "batchs is not a key in workload.parameters"),
        ("    lifts: nothing", "    lift: nothing", 13, "lift is not a key in probes[0]; did"),
        ("      init_gain: 100.0", "      initgain: 1.0", 17, "initgain is not a key in probes"),
        ("  max_norm: 1.0", "  maxnorm: 1.0", 19, "maxnorm is not a key in expects; did you"),
        ("      by: text", "      bye: text", 31, "bye is not a key in rubric.must.names-the-loss"),
        ("source: nowhere\n", "", 1, "the key source is missing: the section of the written advic"),
        ("    lifts: nothing\n", "", 12, "the key lifts is missing in probes[0]: Which mask it"),
        ("    - finite-loss\n  adv", "    - finit-loss\n  adv", 23, "did you mean finite-loss?"),
        ("  - finite-loss\nrubric", "  - finit-loss\nrubric", 27, "there is no property finit-los"),
        ("  - finite-loss\nrub", "  - still-learns\nrub", 27, "does not count here (advisory"),
        ("[clip-before-step]", "[clip-before]", 37, "there is no property clip-before; did you"),
        ("    - still-learns", "    - finite-loss", 25, "finite-loss is listed twice"),
        ("  name: mlp", "  name: mpl", 8, "there is no workload mpl; did you mean mlp?"),
        ("    batches: 4", "    batches: 0", 10, "batches: expected greater than"),
        ("    batches: 4", '    batches: "4"', 10, 'expected a whole number, found "4"'),
        ("    batches: 4", "    batches: many", 10, 'expected a whole number, found "many"'),
        ("  name: mlp", "  name: mlp\n  seed: 1.5", 9, "workload.seed: expected a whole number"),
        ("title: A loss that is not finite", "title: 5", 2, "title: expected text, found 5"),
        ("title: A loss that is not finite", "title: ''", 2, "title: expected a text that is not"),
        ("shows_loop: true", "shows_loop: yes", 6, 'shows_loop: expected true or false, found "y'),
        ("shows_loop: true", "shows_loop: false", 6, "prompt.md inserts {{ buggy }}"),
        ("      by: text", "      by: texts", 31, 'found "texts"; did you mean text?'),
        ("      by: both", "      by: 3", 35, "expected 'execution', 'text' or 'both', found 3"),
        ("  stable_probe: quiet", "  stable_probe: quite", 20, "no probe quite; did you mean"),
        ("  - name: loud", "  - name: quiet", 14, "the probe quiet is listed twice"),
        ("    clips-harder:", "    names-the-loss:", 34, "was already given on line 30"),
        ("suite: toy", "suite: toy\ntitle: again", 4, "the key title was already given on line 2"),
        ("suite: toy", "suite: [toy", 4, "this is not YAML"),
        ("suite: toy", "suite:\ttoy\n\tx: 1", 4, "this is not YAML"),
        ("suite: toy", "suite: !!python/name:os.system", 3, "means nothing here"),
        ("suite: toy", "suite: &x [*x]", 3, "an alias refers to what it is part of"),
        ("id: toy-loss", "id: toy-lost", 1, "the id toy-lost is not the name of its folder, toy"),
        ("id: toy-loss", "id: Toy Loss", 1, "id: expected lower-case words joined by hyphens"),
        (":\n  - excuse: it is fine\n    instead: it is not", ": [fine]", 38, "expected keys with"),
    ],
)
def test_a_mistake_in_the_declaration_is_named_with_its_line(tmp_path, old, new, line, said):
    """One mistake, one complaint, at the key that is wrong, with what was expected."""
    bank = FakeBank(tmp_path).add().edit(YAML, old, new)

    (complaint,) = complaints(bank.folder)

    assert complaint.startswith(f"scenarios/{YAML}:{line}: ")
    assert said in complaint


@pytest.mark.parametrize(("more", "refused"), [(98, False), (99, True)])
def test_a_scenario_has_at_most_a_hundred_probes(tmp_path, more, refused):
    """One of 20,000 probes ran on."""
    probes = "".join(f"  - name: p{i}\n    lifts: nothing\n" for i in range(more))
    bank = FakeBank(tmp_path).add().edit(YAML, "probes:\n", f"probes:\n{probes}")

    if not refused:
        assert len(load_bank(bank.folder).scenarios[0].probes) == 100
        return
    (complaint,) = complaints(bank.folder)
    assert "probes: expected" in complaint
    assert "100" in complaint


@pytest.mark.parametrize(
    ("path", "content", "place", "said"),
    [
        ("toy-loss/buggy.py", b"x = 1\nfor", ":2", "this is not Python: invalid syntax"),
        ("toy-loss/buggy.py", b"return 1\n", ":1", "this is not Python: 'return' outside function"),
        ("toy-loss/buggy.py", b"x = 1\n\xff\n", ":2", "byte 0xff is not UTF-8"),
        ("toy-loss/buggy.py", b" \n", "", "the file is empty"),
        ("reference_impls/toy-loss.py", b"\n\n)", ":3", "this is not Python: unmatched ')'"),
        ("toy-loss/scenario.yaml", b"id: a\n# \xe9\n", ":2", "byte 0xe9 is not UTF-8"),
        ("toy-loss/scenario.yaml", b"", ":1", "the file is empty"),
        ("toy-loss/scenario.yaml", b"- a\n", ":1", "expected keys with values"),
        ("toy-loss/prompt.md", b"a\n{{ buggy }", ":2", "this is not a jinja2 template"),
        ("toy-loss/prompt.md", b"\n{{ bugy }} {{ buggy }}", ":2", "bugy, which is not given; did"),
        (
            "toy-loss/prompt.md",
            b"{{ buggy }}\n{{ buggy.x }}",
            ":2",
            "the template fails: Undefined",
        ),
        ("toy-loss/prompt.md", b"{{ buggy }}\n{{ buggy + 1 }}", ":2", "fails: TypeError"),
        ("toy-loss/prompt.md", b"{{ buggy.__class__.mro() }}", ":1", "fails: SecurityError"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, path, content, place, said):
    """Templates, programs and bytes are checked before anything runs."""
    bank = FakeBank(tmp_path).add()
    bank.file(path).write_bytes(content)

    (complaint,) = complaints(bank.folder)

    shown = path if path.startswith("reference") else f"scenarios/{path}"
    assert complaint.startswith(f"{shown}{place}: ")
    assert said in complaint


@pytest.mark.parametrize("name", ["scenario.yaml", "prompt.md", "buggy.py"])
def test_a_missing_file_is_named_with_a_look_alike(tmp_path, name):
    """A misspelt file name is the usual reason."""
    bank = FakeBank(tmp_path).add()
    file = bank.file(f"toy-loss/{name}")
    file.rename(file.with_name(f"x{name}"))

    (complaint,) = complaints(bank.folder)

    assert complaint.startswith(f"scenarios/toy-loss/{name}: there is no such file (")
    assert complaint.endswith(f"; did you mean x{name}?")


def test_a_missing_reference_is_a_complaint(tmp_path):
    """It says where the file was looked for."""
    bank = FakeBank(tmp_path).add()
    bank.file("reference_impls/toy-loss.py").unlink()

    (complaint,) = complaints(bank.folder)

    assert complaint.startswith("reference_impls/toy-loss.py: there is no such file")


def test_two_references_are_a_complaint(tmp_path):
    """Which one is meant is not guessed."""
    bank = FakeBank(tmp_path).add()
    (bank.folder / "toy-loss/reference.py").write_text(REFERENCE)

    (complaint,) = complaints(bank.folder)

    assert "there is a second reference" in complaint


def test_an_id_that_is_taken_is_a_complaint_at_the_second_file(tmp_path):
    """A copied folder whose id was not changed: wrong for its folder, and taken."""
    bank = FakeBank(tmp_path).add("first").add("second")
    bank.edit("second/scenario.yaml", "id: second", "id: first")

    place = "scenarios/second/scenario.yaml:1"
    assert complaints(bank.folder) == [
        f"{place}: the id first is already that of {bank.folder}/first/scenario.yaml",
        f"{place}: the id first is not the name of its folder, second",
    ]


def test_all_problems_of_all_files_are_said_at_once_in_order(tmp_path):
    """One wrong key does not hide another, nor what does not fit between two sound ones."""
    bank = FakeBank(tmp_path).add("first").add("second")
    bank.edit("first/scenario.yaml", "source: nowhere", "sauce: nowhere")
    bank.edit("first/scenario.yaml", "    batches: 4", "    batches: x")
    bank.edit("first/scenario.yaml", "  stable_probe: quiet", "  stable_probe: quite")
    bank.file("second/buggy.py").write_text("def")

    assert [c.split(": ")[0] for c in complaints(bank.folder)] == [
        "scenarios/first/scenario.yaml:4",
        "scenarios/first/scenario.yaml:10",
        "scenarios/first/scenario.yaml:20",
        "scenarios/second/buggy.py:1",
    ]


def test_a_probe_on_another_workload_takes_that_ones_parameters(tmp_path):
    """``init_gain`` is a parameter of mlp; a CNN has none."""
    bank = FakeBank(tmp_path).add()
    bank.edit(YAML, "    lifts: small gradients", "    lifts: small gradients\n    workload: cnn")

    (complaint,) = complaints(bank.folder)

    assert ":18: init_gain is not a key in probes[1].parameters" in complaint


def test_numbers_and_words_follow_yaml_1_2(tmp_path):
    """``1e-3`` is a number and ``no`` a word, which YAML 1.1 has the other way round."""
    bank = FakeBank(tmp_path).add()
    bank.edit(YAML, "  max_norm: 1.0", "  max_norm: 1e-3").edit(YAML, "suite: toy", "suite: no")

    (scenario,) = load_bank(bank.folder).scenarios

    assert (scenario.expectations.max_norm, scenario.suite) == (0.001, "no")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda root: root / "nowhere", "no bank can be read here: No such file or directory"),
        (lambda root: root, "the bank holds no scenario: expected ID/scenario.yaml"),
        (
            lambda root: FakeBank(root).add().folder / "toy-loss",
            "this is one scenario; the bank is",
        ),
        (
            lambda root: FakeBank(root).add().root,
            "no bank, but there is one in it: .*/scenarios",
        ),
    ],
)
def test_a_folder_that_is_no_bank_is_a_complaint(tmp_path, make, said):
    """It says what a bank would look like."""
    with pytest.raises(BankProblems, match=said):
        load_bank(make(tmp_path))
