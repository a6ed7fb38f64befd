"""The process that becomes the zygote: its command, its environment, its place."""

import os
import site
import subprocess
import sys
from pathlib import Path

from harness.extensions import variables

_ROOT = Path(__file__).resolve().parents[2]
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
_SET = {
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # large pages: a fork copies 512 times fewer entries
}
FOR_PACKAGES = ("PYTHONPATH", "PYTHONUSERBASE", "PYTHONNOUSERSITE")
"""Variables that say where packages are; no use to a program of somebody else's."""


def spawn(fd: int, worker: str, folder: str, log: int) -> "subprocess.Popen[bytes]":
    """Start it. ``fd``: its end of the socket; ``folder``: for scratch folders; ``log``: what it prints.

    It knows nothing of this process but a few variables: no key, no path, no wish of its user.
    """
    command = [sys.executable, "-P", "-m", "harness.sandbox.zygote", str(fd)]
    caches = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor")}
    return subprocess.Popen(
        [*command, "--worker", worker, "--folder", folder],
        env={k: os.environ[k] for k in _KEPT if k in os.environ}
        | _SET
        | caches
        | _packages()
        | variables(),
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(fd,),
        start_new_session=True,  # a terminal's Ctrl-C is the parent's to answer
    )


def checkout() -> str | None:
    """The folder of the source tree that this package is part of; ``None`` where it is installed."""
    return None if _ROOT.name in ("site-packages", "dist-packages") else str(_ROOT)


def _packages() -> dict[str, str]:
    """The variables by which it finds the packages that this process finds."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = [os.path.abspath(entry) for entry in given if entry]
    if (tree := checkout()) is not None:
        path.insert(0, tree)
    if site.ENABLE_USER_SITE:
        users = {"PYTHONUSERBASE": site.getuserbase()}
    else:
        users = {"PYTHONNOUSERSITE": "1"}
    return users | {"PYTHONPATH": os.pathsep.join(path)}
