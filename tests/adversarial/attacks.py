"""What a program tries in order to get out of the jail, and which guards keep it from it.

A program says in ``escaped`` what it got; one that raises got nothing. In braces stand the targets,
all of them the test's own: {victim} a process, {port} a server, {folder} a folder, {bank} our code.
"""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import harness
from harness.sandbox.jail.report import GuardName


@dataclass(frozen=True)
class Attack:
    """One attempt."""

    name: str
    """What it tries."""
    guards: frozenset[GuardName]
    """With these switched off it succeeds."""
    program: str
    """The code, with targets in braces."""


@dataclass(frozen=True)
class Targets:
    """What attacks are aimed at."""

    folder: Path
    """A folder with ``file``, ``socket`` and ``datagrams``."""
    victim: int
    """A process."""
    port: int
    """A server on the machine's loopback."""
    key: int
    """A segment of shared memory."""

    def aim(self, program: str) -> str:
        """Fill in the targets."""
        arm = platform.machine() == "aarch64"
        values = {
            "folder": self.folder,
            "victim": self.victim,
            "port": self.port,
            "key": self.key,
            "bank": Path(harness.__file__).parent,
            "home": Path.home(),
            "clone": 220 if arm else 56,
            "prctl": 167 if arm else 157,
        }
        for name, value in values.items():
            program = program.replace(f"{{{name}}}", str(value))
        return program


FILES = {
    "lock a file of a library": ("seccomp", """
import fcntl, os
one, other = (os.open(os.__file__, os.O_RDONLY) for _ in range(2))
fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
try:
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    escaped = False
except BlockingIOError:
    escaped = True
"""),
    "read the password file": ("landlock", "escaped = open('/etc/passwd').read(4)"),
    "read the bank": ("landlock", "escaped = open('{bank}/__init__.py').read(4)"),
    "list the bank": ("landlock", "import os; escaped = os.listdir('{bank}')"),
    "list the home folder": ("landlock", "import os; escaped = ['home', *os.listdir('{home}')]"),
    "list other jobs": ("landlock", "import os; escaped = os.listdir('..')"),
    "list other processes": ("landlock", "import os; escaped = os.listdir('/proc')"),
    "write outside": ("landlock", "open('{folder}/new', 'w'); escaped = True"),
    "delete outside": ("landlock", "import os; os.remove('{folder}/file'); escaped = True"),
    "truncate outside": ("landlock", "import os; os.truncate('{folder}/file', 0); escaped = True"),
    "change mode bits outside": ("seccomp", """
import os
os.chmod('{folder}/file', 0o600)
escaped = os.stat('{folder}/file').st_mode & 0o777 == 0o600
"""),
    "change times outside": ("seccomp", """
import os
os.utime('{folder}/file', (1, 1))
escaped = os.stat('{folder}/file').st_mtime == 1
"""),
    "watch files": ("seccomp", "import ctypes; escaped = ctypes.CDLL(None).inotify_init1(0) >= 0"),
    "use an open descriptor": ("descriptors", """
import os, socket
for fd in range(3, 64):
    try: kind = socket.socket(fileno=os.dup(fd)).type
    except OSError: continue
    if kind == socket.SOCK_SEQPACKET: escaped = fd
"""),
}  # fmt: skip

PROCESSES = {
    "fork": ("seccomp", """
import os
escaped = os.fork()
if escaped == 0: os._exit(0)
"""),
    "fork by a bare clone": ("seccomp", """
import ctypes, os
pid = ctypes.CDLL(None).syscall({clone}, 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
escaped = pid > 0
"""),
    "start a program": ("seccomp landlock", """
import subprocess
escaped = subprocess.run(['/bin/true']).returncode == 0
"""),
    "spawn a program": ("seccomp landlock", """
import os
os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)
escaped = True
"""),
    "signal the zygote": ("seccomp", "import os; os.kill(os.getppid(), 0); escaped = True"),
    "stop another process": ("seccomp", "import os; os.kill({victim}, 19); escaped = True"),
    "signal its own group": ("seccomp", "import os; os.kill(0, 0); escaped = True"),
    "signal through a pidfd": ("seccomp", """
import os, signal
signal.pidfd_send_signal(os.pidfd_open({victim}), 0)
escaped = True
"""),
    "signal as owner of a descriptor": ("seccomp", """
import fcntl, os
read, write = os.pipe()
fcntl.fcntl(read, 10, 19)
fcntl.fcntl(read, 8, {victim})
escaped = True
"""),
    "signal as owner through ioctl": ("seccomp", """
import fcntl, socket, struct
one, two = socket.socketpair()
fcntl.ioctl(one, 0x8901, struct.pack('i', {victim}))
escaped = True
"""),
    "renice another process": ("seccomp capabilities", """
import os
os.setpriority(os.PRIO_PROCESS, {victim}, 19)
escaped = True
"""),
    "limit another process": ("seccomp capabilities", """
import resource
resource.prlimit({victim}, resource.RLIMIT_CPU, (1, 1))
escaped = True
"""),
    "outlive its parent": ("seccomp", """
import ctypes
escaped = ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0
"""),
    "hide an argument in the upper half": ("seccomp", """
import ctypes
option = ctypes.c_long(1 << 32 | 1)
escaped = ctypes.CDLL(None).syscall({prctl}, option, 0, 0, 0, 0) == 0
"""),
    "enter another user namespace": ("seccomp", """
import ctypes
escaped = ctypes.CDLL(None).unshare(0x10000000) == 0
"""),
}  # fmt: skip

NETWORK = {
    "reach a server": ("network-namespace seccomp", """
import socket
socket.create_connection(('127.0.0.1', {port}), 5)
escaped = True
"""),
    "reach a socket file": ("seccomp", """
import socket
socket.socket(socket.AF_UNIX).connect('{folder}/socket')
escaped = True
"""),
    "redirect a socket pair": ("seccomp", """
import socket
one, two = socket.socketpair(type=socket.SOCK_DGRAM)
one.sendto(b'x', '{folder}/datagrams')
escaped = True
"""),
    "share memory with the machine": ("ipc-namespace seccomp", """
import ctypes
escaped = ctypes.CDLL(None).shmget({key}, 0, 0) >= 0
"""),
}  # fmt: skip

RESOURCES = {
    "exhaust memory": ("rlimits", "escaped = len(bytearray(512 << 20))"),
    "exhaust memory with shared pages": ("rlimits", """
import mmap
escaped = len([mmap.mmap(-1, 512 << 20) for _ in range(4)])
"""),
    "hide memory in a file": ("seccomp", "import os; escaped = os.memfd_create('x') > 0"),
    "write a long file": ("rlimits", """
import os
open('f', 'wb', 0).write(bytes(2 << 20))
escaped = os.path.getsize('f') == 2 << 20
"""),
    "open many files": ("rlimits", "escaped = len([open('/dev/null') for _ in range(100)])"),
    "fill the disk": ("scratch-quota", """
import os
for number in range(16): open(f'f{number}', 'wb', 0).write(bytes(512 << 10))
escaped = sum(map(os.path.getsize, os.listdir())) == 8 << 20
"""),
}  # fmt: skip

# An ordinary user has no such powers to begin with.
POWERS_OF_ROOT = {
    "make others wait for a file of a library": ("seccomp", """
import fcntl, os
file = os.open(os.__file__, os.O_RDONLY)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
escaped = fcntl.fcntl(file, fcntl.F_GETLEASE) == fcntl.F_RDLCK
"""),
    "give a file away": ("seccomp capabilities", """
import os
open('f', 'w').close()
os.chown('f', 1, 1)
escaped = os.stat('f').st_uid == 1
"""),
    "take hold of another process": ("seccomp landlock capabilities", """
import ctypes
escaped = ctypes.CDLL(None).ptrace(16, {victim}, 0, 0) == 0
"""),
    "mount": ("seccomp landlock capabilities", """
import ctypes
escaped = ctypes.CDLL(None).mount(b't', b'/tmp', b'tmpfs', 0, None) == 0
"""),
}  # fmt: skip

ATTACKS = [
    Attack(name, frozenset(guards.split()), program)
    for group in (FILES, PROCESSES, NETWORK, RESOURCES, POWERS_OF_ROOT)
    if group is not POWERS_OF_ROOT or os.geteuid() == 0
    for name, (guards, program) in group.items()
]
"""All of them."""
