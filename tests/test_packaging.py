"""A fresh clone installs what it says, and the pins, the Makefile and the pages agree."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from harness.domain.packages import EXTRA_OF
from tests.fakes.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIG["project"]
DECLARED = [
    Requirement(line) for line in [*CONFIG["build-system"]["requires"], *PROJECT["dependencies"]]
]
EXTRA = [Requirement(line) for needs in PROJECT["optional-dependencies"].values() for line in needs]


def read_pins() -> dict[str, Requirement]:
    """Every pin of constraints.txt, by canonical name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(pin.name): pin for pin in pins}


PINS = read_pins()


def pinned_version(name: str) -> str:
    (specifier,) = PINS[canonicalize_name(name)].specifier
    return specifier.version


def test_torch_is_pinned_to_the_version_that_the_facts_were_measured_on() -> None:
    """The pin names a public version, so that any build of it (CPU or CUDA) satisfies it."""
    assert str(PINS["torch"]) == "torch==2.13.0"


def test_constraints_are_exact_and_sorted() -> None:
    """A constraint is one public version; a range or a local version would not repeat elsewhere."""
    specifiers = [specifier for pin in PINS.values() for specifier in pin.specifier]

    assert len(specifiers) == len(PINS)
    assert {specifier.operator for specifier in specifiers} == {"=="}
    assert not [specifier for specifier in specifiers if "+" in specifier.version]


@pytest.mark.parametrize("dependency", DECLARED + EXTRA, ids=lambda dependency: dependency.name)
def test_every_declared_dependency_is_pinned_within_its_range(dependency: Requirement) -> None:
    """What was tried (constraints.txt) lies within what may work (pyproject.toml)."""
    version = pinned_version(dependency.name)

    assert dependency.specifier.contains(version, prereleases=True)


def test_everything_that_gets_installed_is_pinned() -> None:
    """Not one transitive requirement is left to the day of the install."""
    missing = sorted(name for name in installed_closure() if name not in PINS)

    assert missing == []


def test_what_is_installed_is_what_is_pinned() -> None:
    """The suite speaks for the pins only when it ran on them."""
    different = {
        name: (importlib.metadata.version(name), pinned_version(name))
        for name in sorted(installed_closure() & PINS.keys())
        if importlib.metadata.version(name).partition("+")[0] != pinned_version(name)
    }

    assert different == {}


def installed_closure() -> set[str]:
    """Names of all that the declared dependencies need on this interpreter and platform."""
    seen: set[tuple[str, str]] = set()
    here = [need for need in EXTRA if is_installed(need.name)]  # each target installs its own
    waiting = asked_for(DECLARED + here, extra="")
    while waiting:
        name, extra = pair = waiting.pop()
        if pair not in seen:
            seen.add(pair)
            lines = importlib.metadata.requires(name) or []
            waiting += asked_for([Requirement(line) for line in lines], extra)
    return {name for name, _ in seen}


def is_installed(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def asked_for(needs: list[Requirement], extra: str) -> list[tuple[str, str]]:
    """Which distributions, and which extras of each, these requirements ask for under `extra`."""
    return [
        (canonicalize_name(need.name), wanted)
        for need in needs
        if need.marker is None or need.marker.evaluate({"extra": extra})
        for wanted in ("", *need.extras)
    ]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_every_make_target_is_explained_by_make_help() -> None:
    """`make` alone lists all there is."""
    answer = make(ROOT, "help")
    listed = set(re.findall(r"^  make ([a-z-]+) +\S", answer.stdout, re.MULTILINE))

    assert listed == targets()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "tests/README.md"])
def test_pages_name_only_make_targets_that_exist(page: str) -> None:
    """A command on a page is a promise."""
    code = re.findall(r"```.*?```|`[^`\n]+`", (ROOT / page).read_text(), re.DOTALL)
    commands = re.compile(r"^`*\$? ?make ([a-z][a-z-]*)", re.MULTILINE)
    named = {target for piece in code for target in commands.findall(piece)}

    assert named
    assert named <= targets()


def test_readme_asks_for_the_python_that_pyproject_asks_for() -> None:
    """The one requirement that make cannot install."""
    lowest = PROJECT["requires-python"].removeprefix(">=")

    assert f"Python {lowest}" in (ROOT / PROJECT["readme"]).read_text()


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Make as a user has it: without the variables that an outer make hands down, ``ARGS`` included."""
    clean = {n: v for n, v in os.environ.items() if not n.startswith(("MAKE", "ARGS"))}
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files that decide about installing, and a `python3` that only writes down its calls."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    fake = tmp_path / "python3"
    fake.write_text(
        "#!/bin/sh\n"
        f'echo "$*" >> {tmp_path}/calls\n'
        'case "$*" in\n'
        f'  "-m venv"*) mkdir -p {tmp_path}/.venv/bin && cp "$0" {tmp_path}/.venv/bin/python;;\n'
        f"  *install*) [ ! -e {tmp_path}/broken ];;\n"
        f'  "-m harness"*) exit 1;;\n'
        "esac\n"
    )
    fake.chmod(0o755)
    return tmp_path


def run_in(clone: Path) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    calls = clone / "calls"
    calls.unlink(missing_ok=True)
    answer = make(clone, f"PYTHON={clone}/python3", "run")
    return answer, calls.read_text().splitlines()


def test_the_first_make_run_installs_and_the_second_does_not(clone: Path) -> None:
    """A stamp remembers the install; only pyproject.toml and constraints.txt make it stale."""
    _, first = run_in(clone)
    _, second = run_in(clone)
    os.utime(clone / "constraints.txt", (2**31, 2**31))
    _, third = run_in(clone)

    assert [call for call in first if " install " in call]
    assert second == ["-m harness run --scenario all"]
    assert [call for call in third if " install " in call]


def test_an_install_that_failed_leaves_no_stamp(clone: Path) -> None:
    """Half an installation is done again; it is never taken for a whole one."""
    (clone / "broken").touch()
    failed, calls = run_in(clone)
    (clone / "broken").unlink()
    _, retried = run_in(clone)

    assert failed.returncode == 2
    assert "next make tries again" in failed.stderr
    assert not [call for call in calls if "harness run" in call]
    assert [call for call in retried if " install " in call]


def test_every_extra_is_installed_by_make_test_full(clone: Path) -> None:
    """There nothing may be skipped."""
    make(clone, f"PYTHON={clone}/python3", "test-full")
    calls = (clone / "calls").read_text()
    named = re.findall(r"--editable \.\[([\w,]+)\]", calls)

    assert [set(extras.split(",")) for extras in named] == [set(PROJECT["optional-dependencies"])]


def test_the_sentence_about_a_missing_package_names_an_extra_that_has_it() -> None:
    """What it says to type would else install nothing."""
    part_of_another = {"pytorch_lightning", "lightning_fabric"}
    named = {p: e for p, e in EXTRA_OF.items() if p not in part_of_another}
    held = {
        e: {Requirement(n).name for n in PROJECT["optional-dependencies"][e]}
        for e in named.values()
    }

    assert [package for package, extra in named.items() if package not in held[extra]] == []


def test_make_reports_the_exit_code_of_the_harness(clone: Path) -> None:
    """Make has one exit code for every failure; the harness's own is in its closing line."""
    answer, _ = run_in(clone)

    assert answer.returncode == 2
    assert re.search(r"\brun\] Error 1\b", answer.stderr)


# In pieces, so that this file does not mention what no file may mention.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"\.\./" + "shared",
            r"(?<![\w.])/" + "work/",
            r"py" + r"pi\.org",
            "python" + r"hosted\.org",
            r"npm" + r"js\.(?:org|com)",
            r"deb\." + r"debian\.org",
            r"download\." + r"pytorch\.org",
        ]
    )
)


def test_no_file_mentions_a_place_that_only_its_author_had() -> None:
    """The project speaks of itself alone: no neighbour folders, no paths of a machine, no hosts."""
    mentions = [
        f"{path}:{number}: {match.group()}"
        for path in project_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if (match := FORBIDDEN.search(line))
    ]

    assert mentions == []


def project_files() -> list[Path]:
    """What git tracks or would track; where there is no git, all but hidden folders and caches."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        found = [path for path in ROOT.rglob("*") if "/." not in f"/{path.relative_to(ROOT)}"]
    else:
        found = [ROOT / name for name in answer.stdout.split("\0") if name]
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]
