"""The process that becomes the zygote: its command, its environment, its place."""

import os
import subprocess
import sys
from pathlib import Path

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
# Only a checkout: the zygote takes the folder off its path again, and site-packages must stay
if _ROOT.name not in ("site-packages", "dist-packages"):
    _SET["PYTHONPATH"] = str(_ROOT)


def spawn(fd: int, worker: str, folder: str, log: int) -> "subprocess.Popen[bytes]":
    """Start it. ``fd``: its end of the socket; ``folder``: for scratch folders; ``log``: what it prints.

    It knows nothing of this process but a few variables: no key, no path, no wish of its user.
    """
    command = [sys.executable, "-s", "-P", "-m", "harness.sandbox.zygote", str(fd)]
    return subprocess.Popen(
        [*command, "--worker", worker, "--folder", folder],
        env={name: os.environ[name] for name in _KEPT if name in os.environ} | _SET,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(fd,),
        start_new_session=True,  # a terminal's Ctrl-C is the parent's to answer
    )
