"""Commands that change a file in a way that is not followed: the file is unknown, and they are named."""

import pytest

from harness.domain.transcript import Message, ToolCall, Transcript
from harness.transcripts import files_after
from harness.transcripts.edits import edits_of_call, told_by_call
from tests.transcripts.material import TEXT


def state_after(command, path="/r/a.py"):
    """The file ``a.py``, which was read before; ``None`` where the command leaves it alone."""
    edits = (
        told_by_call("Bash", {"command": "cat a.py"}, TEXT, "/r"),
        edits_of_call("Bash", {"command": command}, "/r"),
    )
    calls = [
        ToolCall(id=str(i), name="Bash", input="", status="ok", edits=made)
        for i, made in enumerate(edits)
    ]
    message = Message(role="assistant", text="", calls=tuple(calls))
    states = files_after(Transcript(messages=(message,), agent="a"))
    return next((state for state in states if state.path == path), None)


UNFOLLOWED = {
    "exec 3> a.py; echo x >&3": "exec",
    "echo x 3> 'a.py'": "echo",
    "exec {fd}>a.py": "exec",
    "bash -c 'exec 3>> a.py'": "exec",
    "cp -l a.py b.py; echo x >> b.py": "cp",
    "cp --link a.py b.txt && sed -i 's/1.0/9/' b.txt": "cp",
    "cp -s /r/a.py b.py; echo x >> b.py": "cp",
    "cp -al . ../other; echo x >> ../other/a.py": "cp",
    "ln -s . d; echo x >> d/a.py": "ln",
    "dd if=/tmp/x of=a.py": "dd",
    "echo 'echo x > a.py' | bash": "bash",
    "curl -s http://x | sh -s": "sh",
    'ruby -e \'File.write("a.py", "x")\'': "ruby",
    "sqlite3 db \"select writefile('a.py', 'x')\"": "sqlite3",
    "perl -e 'open(F, \">a.py\"); print F 1'": "perl",
    "awk '{print > \"a.py\"}' b.txt": "awk",
    "awk '{print 1 > FILENAME}' a.py": "awk",
    "gunzip -f a.py.gz": "gunzip",
    "scp host:a.py .": "scp",
    "curl -O http://x/a.py": "curl",
    "curl -o 'a.py' http://x/y": "curl",
    "wget -q http://x/a.py": "wget",
    "7z x theirs.7z": "7z",
    "cpio -i < theirs.cpio": "cpio",
    "dvc checkout": "dvc",
    "aws s3 cp s3://b/a.py .": "aws",
    "docker cp c:/x a.py": "docker",
    "entr sed -i s/1.0/9/ a.py": "entr",
    "gh pr checkout 3": "gh",
    "hg update": "hg",
    "jj new": "jj",
    "svn up": "svn",
    "find . -delete": "find",
    "find . -name '*.py' -delete": "find",
    "find . -fprint a.py": "find",
    "find . -name a.py | xargs -I{} cp /tmp/x {}": "cp",
    "ls *.py | parallel sed -i s/1.0/9/ {}": "parallel",
    "fd -e py -x sed -i s/1.0/9/": "fd",
    "codemod opt pt": "codemod",
    "ast-grep run -p x -r y -U": "ast-grep",
    "claude -p 'repair it'": "claude",
    "rename 's/b/a/' b.py": "rename",
    "uniq b.txt a.py": "uniq",
    "$CMD": "$CMD",
    "alias l='echo x > a.py'; l": "alias",
    "trap 'echo x > a.py' EXIT": "trap",
    "sed -i 's/1.0/9/' {a,b}.py": "sed",
    "jupyter nbconvert --to script a.ipynb": "jupyter",
    "python -c \"import os; os.system('echo x > a.py')\"": "Python",
    "python -c \"import os; os.replace('b.py', 'a.py')\"": "Python",
    "python -c \"exec(open('x').read())\"": "Python",
    "python -c \"import subprocess as s; s.run(['sed', '-i', 's/1.0/9/', 'a.py'])\"": "Python",
    "python -c \"__import__('os').system('sed -i s/1.0/9/ a.py')\"": "Python",
    "python -c \"print('x', file=open('a' + '.py', 'w'))\"": "Python",
    "python -c \"import runpy; runpy.run_path('fix.py')\"": "Python",
    "python -c \"import zipfile; zipfile.ZipFile('x.zip').extractall()\"": "Python",
    "python fix_x.py": "/r/fix_x.py,",
    "python3 scripts/fix.py --all": "/r/scripts/fix.py,",
    "python -m fixer": "/r/fixer.py,",
    "uv run fix.py": "/r/fix.py,",
    "conda run -n e python fix.py": "/r/fix.py,",
    "./fix": "fix",
    "./fix.py": "/r/fix.py,",
    "cd sub && ../fix": "fix",
    "sudo -u me ./fix": "fix",
    "./gradlew apply": "gradlew",
    "ruby fix.rb": "ruby",
    "go run fix.go": "go",
    "npx jscodeshift .": "npx",
    "rewriter --in-place .": "rewriter",
    "apply_patch < theirs.patch": "apply_patch",
    "mount --bind /tmp/other .": "mount",
    "wget -i list.txt": "wget",
    "wget http://x/$NAME": "wget",
    "curl -K config.txt": "curl",
    "curl -OJ http://x/download": "curl",
    'curl -sSL -o "$F" http://x/y': "curl",
    "aria2c -i list.txt": "aria2c",
    "scp -r host:x .": "scp",
    "git fixed-up-by-an-alias": "git",
    "git fixup": "git",
}
PUT_OVER = {
    "ln -sfn /tmp/other .": "two",
    "ln -sfn /tmp/other /r": "two",
    "mv ../r2 ../r": "over",
    "cp -rT /tmp/other .": "over",
}


@pytest.mark.parametrize("command", PUT_OVER)
def test_a_folder_that_takes_the_place_of_another_leaves_its_files_unknown(command):
    state = state_after(command)

    assert state is not None
    assert state.content is None
    assert PUT_OVER[command] in state.why.split()


@pytest.mark.parametrize("command", UNFOLLOWED)
def test_a_file_that_a_command_may_have_changed_is_unknown_and_the_command_named(command):
    """It was graded as it had been before."""
    state = state_after(command)

    assert state is not None
    assert state.content is None
    assert UNFOLLOWED[command] in state.why.split(":")[0].split()


@pytest.mark.parametrize(
    "command",
    [
        "cp -t . /tmp/a.py",
        "mv --target-directory=. /tmp/a.py",
        "cp /tmp/x/a.py b.py c.py .",
        "install -t . /tmp/a.py",
        "sed 's/x/y/' b.txt | tee b.txt a.py",
        "echo x > {a,b}.py",
        "echo x > $'a.py'",
        "echo x > ~+/a.py",
        'cd "$D"; echo x > a.py',
        "pushd sub; sed -i 's/1.0/9/' ../a.py",
        "python <<< \"open('a.py', 'w').write('x')\"",
        "bash <<< 'echo x > a.py'",
        "uv run python -c \"open('a.py', 'w').write('x')\"",
        "ksh -c 'echo x > a.py'",
        "busybox sh -c 'echo x > a.py'",
        "su -c 'echo x > a.py'",
        "git bisect start HEAD v1",
        "tmux new -d 'echo x > a.py'",
        "flock a.lock -c 'echo x > a.py'",
    ],
)
def test_a_file_of_an_unread_command_does_not_count_as_unchanged(command):
    state = state_after(command)

    assert state is not None
    assert state.content != TEXT


@pytest.mark.parametrize(
    "command",
    [
        "python a.py 2> log.txt",
        "python a.py 3> out.txt",
        "[ -f a.py ] && python a.py",
        "[[ -f a.py ]] && echo there",
        "pgrep -f a.py",
        "pkill -f a.py",
        "tmux new -d 'python a.py'",
        "uv run python a.py",
        "uv run pytest a.py",
        "awk '$1 > 5 {print $1}' b.txt",
        "awk '{print $1 > \"out.txt\"}' b.txt",
        "find . -name '*.pyc' -delete",
        "find . -name __pycache__ -exec rm -rf {} +",
        "ln -s /data/images data",
        "cp -t /tmp/kept a.py",
        "gh pr view 3",
        "wget -q http://x/data.tgz",
        "cd $(mktemp -d); echo x > a.py",
        "python <<< 'print(1)'",
        "grep -c x <<< 'open a.py'",
        "jupyter nbconvert --to html a.ipynb",
        "for i in {1,2}; do echo $i; done",
        "python -c \"import torch; print(torch.load('x.pt'))\"",
        "python -c \"import subprocess; subprocess.run(['ls'])\"",
        "python -c \"import subprocess; subprocess.run(['python', 'a.py'])\"",
        "python train.py --epochs 1",
        "python -m pytest -q",
        "python -m torch.distributed.run train.py",
        "python -m tests.run_all",
        "./run_tests",
        "./gradlew test",
        "cargo build",
        "go test",
        "/usr/bin/env true",
        ".venv/bin/something --version",
        "mv data ../old",
        "ln -sfn /data/images images",
        "cp -r logs kept",
        'curl -s "$URL" -o data.tgz',
        "curl -s $URL",
        "wget -q -O data.tgz $URL",
        "scp host:model.pt .",
        "git log --oneline",
        "git worktree add ../x",
    ],
)
def test_a_command_that_looks_or_writes_elsewhere_leaves_it_known(command):
    assert state_after(command) is None


def test_a_patch_that_is_not_shown_may_change_a_file_of_the_session_too():
    written = state_after(f"cat > n.py <<'E'\n{TEXT}E\npatch -p1 < theirs.diff", "/r/n.py")

    assert written is not None
    assert written.content is None
