"""A program of a repository goes along with the files that it imports, as modules."""

import pytest

from harness.agents.programs import programs_of
from harness.agents.repository import with_modules
from harness.beside import PackedProgram, unpacked

TRAIN = """\
from {package}.net import Net
net = Net()
net(1).backward()
"""


@pytest.fixture
def repository(tmp_path):
    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def modules_of(path):
    return sorted(with_modules(path)[0].modules)


def test_a_package_in_the_folder_above_a_script_goes_along(repository):
    root = repository({
        "scripts/train.py": TRAIN.format(package="pack"),
        "pack/__init__.py": "",
        "pack/net.py": "from pack import parts\n",
        "pack/parts.py": "",
        "pack/unused.py": "",
    })  # fmt: skip

    assert modules_of(root / "scripts/train.py") == ["pack", "pack.net", "pack.parts"]


def test_a_package_below_src_goes_along(repository):
    root = repository({"train.py": TRAIN.format(package="pack"), "src/pack/net.py": ""})

    assert modules_of(root / "train.py") == ["pack.net"]


@pytest.mark.parametrize(
    "added", ['"../lib"', 'os.path.join(os.path.dirname(__file__), "..", "lib")', '0, "../lib"']
)
def test_a_folder_that_a_program_puts_on_its_path_is_looked_into(repository, added):
    way = "insert" if added.startswith("0") else "append"
    root = repository({
        "examples/train.py": f"import os, sys\nsys.path.{way}({added})\nimport nets\n",
        "lib/nets.py": "",
    })  # fmt: skip

    assert modules_of(root / "examples/train.py") == ["nets"]


def test_a_folder_elsewhere_is_not_looked_into_whoever_names_it(repository):
    root = repository({
        "mine/.git/HEAD": "",
        "mine/train.py": "import sys\nsys.path.append('../other')\nimport secrets_of_others\n",
        "other/secrets_of_others.py": "",
    })  # fmt: skip

    assert modules_of(root / "mine/train.py") == []


@pytest.mark.parametrize("name", ["'nets.' + kind", "f'nets.{kind}'", "'nets.{}'.format(kind)"])
def test_all_modules_go_along_of_which_a_setting_says_which_is_imported(repository, name):
    root = repository({
        "train.py": f"import importlib\nnet = importlib.import_module({name})\n",
        "nets/small.py": "import sizes\n",
        "nets/large.py": "",
        "sizes.py": "",
        "unused.py": "",
    })  # fmt: skip

    assert modules_of(root / "train.py") == ["nets.large", "nets.small", "sizes"]


def test_all_modules_beside_a_program_go_along_that_imports_one_by_a_setting(repository):
    root = repository({"train.py": "net = __import__(settings['model'])\n", "small.py": ""})

    assert modules_of(root / "train.py") == ["small"]


def test_a_package_that_imports_whatever_lies_in_it_brings_all_of_it(repository):
    loop = "for one in listed(): __import__('.'.join([__name__, one]), fromlist=[one])\n"
    root = repository({
        "train.py": "from agents import *\n",
        "agents/__init__.py": loop,
        "agents/one.py": "",
        "agents/two.py": "",
        "other.py": "",
    })  # fmt: skip

    assert modules_of(root / "train.py") == ["agents", "agents.one", "agents.two"]


def test_relative_imports_mean_the_package_of_the_file_that_holds_them(repository):
    root = repository({
        "train.py": "import pack.inner.net\n",
        "pack/__init__.py": "",
        "pack/inner/__init__.py": "",
        "pack/inner/net.py": "from ..parts import Part\nfrom . import near\n",
        "pack/inner/near.py": "",
        "pack/parts.py": "",
    })  # fmt: skip

    names = ["pack", "pack.inner", "pack.inner.near", "pack.inner.net", "pack.parts"]
    assert modules_of(root / "train.py") == names


def test_a_script_that_lies_in_a_package_knows_its_package(repository):
    root = repository({"pack/train.py": "from .net import Net\n", "pack/net.py": ""})

    packed, _ = with_modules(root / "pack/train.py")

    assert (packed.package, sorted(packed.modules)) == ("pack", ["pack.net"])


def test_nothing_is_looked_for_above_the_repository(repository):
    root = repository({"top.py": "", "repo/.git/HEAD": "", "repo/train.py": "import top\n"})

    assert modules_of(root / "repo/train.py") == []


def test_an_example_in_the_repository_of_an_installed_framework_uses_the_installed_one(repository):
    root = repository({"examples/cv.py": "import accelerate\n", "src/accelerate/__init__.py": ""})

    assert modules_of(root / "examples/cv.py") == []


def test_a_file_of_the_standard_librarys_name_stays_out(repository):
    root = repository({"train.py": "import random\n", "random.py": ""})

    assert modules_of(root / "train.py") == []


def test_a_program_and_its_files_are_one_text_and_come_apart_again(repository):
    root = repository(
        {"train.py": TRAIN.format(package="pack"), "pack/net.py": "x = '''\n\u2028'''\n"}
    )
    packed, _ = with_modules(root / "train.py")

    assert unpacked(packed.text) == packed
    assert packed.text.startswith(packed.code)


@pytest.mark.parametrize("below", ["{}", "[1]", '{"package": 1, "files": 2}', "__import__('os')"])
def test_a_text_that_only_looks_as_if_files_were_below_it_is_a_program(below):
    text = f"x = 1\n__files_beside__ = {below}\n"

    assert unpacked(text) == PackedProgram(text)


def test_a_file_that_another_given_one_imports_is_no_program_of_its_own(repository):
    root = repository({"train.py": TRAIN.format(package="pack"), "pack/net.py": "def Net(): ...\n"})
    files = [str(root / "train.py"), str(root / "pack/net.py")]

    (found,) = programs_of(files)

    assert (found.path, found.beside) == (files[0], (files[1],))
