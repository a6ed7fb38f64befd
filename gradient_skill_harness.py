"""The command ``gradient-skill-harness``, outside of the package: another distribution on the package
index installs a module called ``harness`` too, and whichever came last is the one that is imported.
"""

import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import harness

NAME = "gradient-skill-harness"


def main() -> None:
    """Run the harness, or say in one line that another one stands in its place."""
    if not _is_ours():
        sys.stderr.write(
            f"{NAME}: the module harness at {harness.__file__} is that of another distribution: "
            f"install {NAME} in an environment of its own\n"
        )
        sys.exit(2)
    from harness.__main__ import main as run

    run()


def _is_ours() -> bool:
    try:
        installed = version(NAME)
    except PackageNotFoundError:  # a checkout on the path, which nobody installed
        installed = getattr(harness, "__version__", None)
    parts = ("harness.cli", "harness.sandbox", "harness.oracle")
    return getattr(harness, "__version__", None) == installed and all(map(find_spec, parts))


if __name__ == "__main__":
    main()
