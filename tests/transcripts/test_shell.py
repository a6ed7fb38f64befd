"""What shell commands do to files."""

import pytest

from harness.domain.transcript import Message, ToolCall, Transcript
from harness.transcripts import files_after
from harness.transcripts.edits import edits_of_call, told_by_call
from harness.transcripts.sed import after_sed
from harness.transcripts.shell_words import commands_of
from tests.transcripts.material import TEXT


def after(*commands, text=TEXT):
    """Both files of a folder after a file was read and these commands were run."""
    seen = told_by_call("Bash", {"command": "cat a.py"}, text, "/r")
    read = ToolCall(id="0", name="Bash", input="", status="ok", edits=seen)
    made = [
        ToolCall(
            id="1", name="Bash", input="", status="ok",
            edits=edits_of_call("Bash", {"command": command}, "/r"),
        )
        for command in commands
    ]  # fmt: skip
    message = Message(role="assistant", text="", calls=(read, *made))
    return {f.path: f.content for f in files_after(Transcript(messages=(message,), agent="a"))}


@pytest.mark.parametrize("script", ["s/a/b/e", "y/abc/xyz/", "/a/{s/b/c/}", "s/a/b/w out", "s/a"])
def test_a_script_that_is_not_followed_is_not_guessed_at(script):
    assert after_sed(script, TEXT) is None
    assert after(f"sed -i '{script}' a.py") == {"/r/a.py": None}


@pytest.mark.parametrize(
    "command",
    ["sort -o a.py a.py", "sed -n 'w a.py' b.py", "sed 's/x/y/w a.py' b", "jupytext --to py a.ipynb",
     "docker run -v .:/x img", "P=x.patch; patch a.py $P"],
)  # fmt: skip
def test_a_file_that_a_command_may_have_written_is_unknown(command):
    """It counted as unchanged."""
    assert after(command) == {"/r/a.py": None}


@pytest.mark.parametrize("command", ["sort a.py", "docker ps -a", "docker build ."])
def test_a_command_that_writes_no_file_leaves_it_known(command):
    assert after(command) == {}


def test_files_are_copied_moved_and_removed():
    done = after("cp a.py a.py.bak && sed -i 's/1.0/9/' a.py", "mv a.py.bak b.py; rm a.py")

    assert done == {"/r/b.py": TEXT}


@pytest.mark.parametrize(
    "command",
    ["git checkout a.py", "git checkout -- .", "git restore a.py", "git stash", "git -C . stash -q",
     "git reset --hard", "git checkout HEAD -- a.py"],
)  # fmt: skip
def test_git_puts_back_what_the_file_was_before_the_agent_touched_it(command):
    """A right edit that was undone was graded as the agent's proposal."""
    assert after("sed -i 's/1.0/9/' a.py", command) == {"/r/a.py": TEXT}


@pytest.mark.parametrize(
    "command",
    ["cd sub && mv a.py b.py", "git -C sub mv a.py b.py", "cd sub && git mv a.py b.py",
     "cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\nEOF"],
)  # fmt: skip
def test_a_file_is_moved_inside_of_the_folder_that_the_command_goes_to(command):
    """And the one of the same name outside of it stays as it is."""
    assert after("cp a.py sub/a.py", command) == {"/r/sub/b.py": TEXT}


@pytest.mark.parametrize(
    "before",
    ["(cd sub && pytest -q)", "(cd sub); (cd sub && true)", "( cd /x; (cd y; true); true )",
     "cd sub && (cd .. && true) && cd ..", "cd sub && true; cd -", "case $1 in a) cd sub;; esac; cd .."],
)  # fmt: skip
def test_a_shell_that_comes_back_and_one_whose_subshell_went_elsewhere_are_where_they_were(before):
    edited = TEXT.replace("1.0", "9")

    assert after(f"{before}; sed -i 's/1.0/9/' a.py") == {"/r/a.py": edited}
    assert after(f"{before}\n(sed -i 's/1.0/9/' a.py)") == {"/r/a.py": edited}


def test_what_a_subshell_lists_is_in_its_folder():
    listed = told_by_call("Bash", {"command": "(cd sub; cd deep && cat a.py)"}, TEXT, "/r")

    assert [edit.path for edit in listed] == ["/r/sub/deep/a.py"]


@pytest.mark.parametrize("command", ["git -C sub checkout a.py", "git -C sub rm a.py"])
def test_what_git_does_in_another_folder_does_not_meet_the_file_of_this_one(command):
    edited = TEXT.replace("1.0", "9")

    assert after("sed -i 's/1.0/9/' a.py", command)["/r/a.py"] == edited


def test_what_was_committed_is_put_back_and_what_was_stashed_returns():
    edited = TEXT.replace("1.0", "9")

    assert after("sed -i 's/1.0/9/' a.py && git commit -am x", "git checkout a.py", "true") == {
        "/r/a.py": edited
    }
    assert after("sed -i 's/1.0/9/' a.py", "git stash", "git stash pop") == {"/r/a.py": edited}


@pytest.mark.parametrize("command", ["git checkout HEAD~1 -- a.py", "git reset --hard HEAD~2"])
def test_a_file_checked_out_from_another_commit_is_not_known(command):
    assert after("sed -i 's/1.0/9/' a.py", command) == {"/r/a.py": None}


def test_a_variable_that_was_given_a_plain_text_names_a_file():
    """The file that it named was graded as it had been before."""
    assert after("F=b.py\ncat > \"$F\" <<'E'\nx\nE") == {"/r/b.py": "x\n"}


def test_a_new_file_is_none_of_version_controls():
    assert after("cat > b.py <<'E'\nx\nE", "git stash") == {"/r/b.py": "x\n"}


@pytest.mark.parametrize(
    "script",
    [
        "t = open('a.py').read()\nopen('a.py', 'w').write(t.replace('1.0', '9'))",
        "import pathlib\np = pathlib.Path('a.py')\np.write_text(p.read_text().replace('1.0', '9'))",
    ],
)
def test_a_file_that_a_python_script_writes_is_not_known(script):
    assert after(f"python3 - <<'EOF'\n{script}\nEOF") == {"/r/a.py": None}
    assert after(f'python -c "{script}"') == {"/r/a.py": None}


def test_a_python_script_that_only_reads_changes_nothing():
    assert after("python -c \"print(open('a.py', 'r').read())\"") == {}


def test_a_unified_diff_is_applied():
    diff = (
        "--- a/a.py\n+++ b/a.py\n@@ -3,2 +3,2 @@\n steps = 4\n"
        "-for i, (x, y) in enumerate(loader):\n+for i, (x, y) in enumerate(data):\n"
    )

    assert after(f"git apply <<'EOF'\n{diff}EOF") == {"/r/a.py": TEXT.replace("(loader)", "(data)")}


def test_a_listing_after_an_edit_tells_what_somebody_else_changed():
    """The user undid it in another window; the file was taken for what the agent had made of it."""
    call = {"command": "sed -i 's/a/b/w x' a.py && cat a.py"}
    (seen,) = told_by_call("Bash", call, "y = 2\n", "/r")

    assert (seen.path, seen.content) == ("/r/a.py", "y = 2\n")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("a 'b c' \"d\\\"e\" # f's", [["a", "b c", 'd"e']]),
        ("a && b || c; d | e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a 2>&1 >b c &>/dev/null", [["a", "c"]]),
        ("(cd x && y=$(a | b) z)", [["cd", "x"], ["y=$(a | b)", "z"]]),
        ("python -c \"\nx = 'a;b'\n\"", [["python", "-c", "\nx = 'a;b'\n"]]),
        ("cat <<'E' >b && c\nx; y\nE\nd", [["cat"], ["c"], ["d"]]),
        ("a '", [["a", ""]]),
    ],
)
def test_a_script_is_taken_apart_into_commands(script, words):
    assert [command.words for command in commands_of(script)] == words


CLEARED = TEXT.replace("        optimizer.step()\n", "        optimizer.step()\n        clear()\n")


def shown(command, output):
    """The file after a command that is not followed and that printed something."""
    call = {"command": command}
    edits = (*edits_of_call("Bash", call, "/r"), *told_by_call("Bash", call, output, "/r"))
    seen = told_by_call("Bash", {"command": "cat a.py"}, TEXT, "/r")
    calls = [
        ToolCall(id=str(i), name="Bash", input="", status="ok", edits=made)
        for i, made in enumerate((seen, edits))
    ]
    message = Message(role="assistant", text="", calls=tuple(calls))
    return {f.path: f.content for f in files_after(Transcript(messages=(message,), agent="a"))}[
        "/r/a.py"
    ]


TAIL = "\n".join(CLEARED.split("\n")[9:])
DIFF = (
    "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n"
    "@@ -11 +11,2 @@ for i\n         optimizer.step()\n+        clear()\n"
)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("ed -s a.py <<'E'\n$a\n        clear()\n.\nw\nE\ncat a.py", CLEARED),
        ("awk 1 a.py > b && mv b a.py && cat a.py", CLEARED),
        ("python3 fix.py a.py && tail -4 a.py", TAIL),
        ("ed -s a.py < x; sed -n '10,$p' a.py", TAIL),
        ("vim -es a.py; git diff", DIFF),
        ("git checkout -p a.py; git diff -U1; tail -2 a.py", f"{DIFF}    if x:\n        clear()\n"),
        ("python3 x.py; grep -n '' a.py", "".join(f"{i}:{t}\n" for i, t in enumerate(CLEARED.split("\n")[:-1], 1))),
    ],
)  # fmt: skip
def test_what_is_not_followed_is_known_by_what_is_shown_of_it(command, output):
    assert shown(command, output) == CLEARED


def test_a_listing_that_contradicts_what_is_known_makes_the_file_unknown():
    """A command that nobody heard of changed it, and only the middle is shown."""
    assert shown("python3 x.py; sed -n '5,6p' a.py", "    pass\n    pass\n") is None


@pytest.mark.parametrize(
    "command",
    [
        "ed -s a.py <<'E'\nw\nE",
        "vim -es a.py",
        "awk 1 a.py > a.py",
        'n=$(wc -l < b); sed -i "${n}d" a.py',
        "sed -i '8{h;d};9{G}' a.py",
        "git merge fix",
        "git switch main",
        "git checkout main",
        "git cherry-pick abc",
        "git apply -R <<'E'\nE",
        "patch -p1 < unknown.patch",
        "ln -sf b a.py",
        "ln -s a.py b",
    ],
)
def test_what_a_command_may_have_changed_is_unknown(command):
    assert after("sed -i 's/1.0/9/' a.py", command) == {"/r/a.py": None}


@pytest.mark.parametrize(
    "command",
    [
        "find . -name '*.py' -exec sed -i 's/1.0/9/' {} +",
        "find . -name '*.py' -exec sed -i 's/1.0/9/' {} \\;",
        "grep -rl max_norm . | xargs sed -i 's/1.0/9/'",
        "ls | xargs -I{} sh -c 'sed -i s/1.0/9/ {}'",
        "sed -i 's/1.0/9/' *.py",
        "sed 's/1.0/9/' a.py > b.py && mv b.py a.py",
        "timeout 60 sed -i.bak 's/1.0/9/' a.py",
        "timeout -s KILL 6s nice -n 5 sed -i 's/1.0/9/' a.py; timeout --signal=INT -k 5 60 python a.py",
        "cd $PWD && sed -i 's/1.0/9/' a.py",
        "F=a.py; sed -i 's/1.0/9/' \"$F\"",
    ],
)
def test_a_command_over_many_files_or_by_another_file_is_followed(command):
    assert after(command) == {"/r/a.py": TEXT.replace("1.0", "9")}


def test_a_revert_takes_the_last_commit_back():
    commit = "sed -i 's/1.0/9/' a.py && git commit -qam x"

    assert after(commit, "git revert --no-edit HEAD") == {"/r/a.py": TEXT}


def test_a_patch_of_the_session_is_carried_out_and_what_a_program_of_it_writes_is_not_known():
    diff = "--- a.py\n+++ a.py\n@@ -3 +3 @@\n-steps = 4\n+steps = 8\n"
    program = "t = open('a.py').read()\nopen('a.py', 'w').write(t.replace('= 4', '= 8'))\n"

    patched = after(f"cat > f.patch <<'E'\n{diff}E", "patch -p0 < f.patch")
    programmed = after(f"cat > f.py <<'E'\n{program}E", "python f.py")

    assert patched["/r/a.py"] == TEXT.replace("= 4", "= 8")
    assert programmed["/r/a.py"] is None


def test_what_a_program_printed_above_a_listing_is_no_part_of_the_file():
    """A word is; an import that somebody added is a change."""
    command = "python fix.py && cat a.py"

    def listed(above):
        seen = (
            told_by_call("Bash", {"command": "cat a.py"}, TEXT, "/r"),
            told_by_call("Bash", {"command": command}, above + TEXT, "/r"),
        )
        calls = [
            ToolCall(id=str(i), name="Bash", input="", status="ok", edits=edits)
            for i, edits in enumerate(seen)
        ]
        message = Message(role="assistant", text="", calls=tuple(calls))
        transcript = Transcript(messages=(message,), agent="a")
        return files_after(transcript, also_unchanged=True)[0].content

    assert listed("done\n") == TEXT
    assert listed("import os\n") == f"import os\n{TEXT}"


UNKNOWN = {
    "awk": "awk -i inplace '{ gsub(/1.0/, 9) } 1' a.py",
    "make": "make fix",
    "npm": "npm exec rewrite",
    "eval": 'eval "$(cat fix)"',
    "a variable": "for f in *; do sed -i 's/1.0/9/' \"$f\"; done",
    "a variable that is set anew": "f=b.txt; f=$(ls | head -1); echo 1 >> $f",
    "a variable that is read": "f=b.txt; cat names | while read f; do echo 1 >> $f; done",
    "a variable for an output": "head -3 b > $OUT",
    "what another command names": "sed -i 's/1.0/9/' $(git ls-files)",
    "a script": "bash tools/fix.sh",
    "every file, in Python": "python -c \"for p in glob('*'): open(p, 'w').write('')\"",
    "git": "git restore --source HEAD~1 a.py",
    "ed": "printf '1d\\nw\\n' | ed -s a.py",
    "ex": "ex -sc '1d|x' a.py",
    "tar": "tar xf theirs.tar",
    "perl": "perl -i -ne 'print if 1' a.py",
    "perl, line by line": "perl -pi -e 's/1.0/9/' a.py",
    "a folder over it": "cp -r theirs/. .",
}


@pytest.mark.parametrize("command", UNKNOWN.values(), ids=UNKNOWN)
def test_a_file_that_a_command_may_have_changed_unseen_is_unknown(command):
    """It was graded as it had been before."""
    assert after(command) == {"/r/a.py": None}


@pytest.mark.parametrize(
    "command",
    [
        "make test",
        "make -j4 run-tests",
        "npm install",
        "awk '{print}' a.py",
        "bash run_train.sh",
        "LOG=out.log; python a.py > $LOG",
        "d=$(mktemp -d); cp b.txt $d/",
    ],
)
def test_a_command_that_builds_or_looks_changes_no_source(command):
    assert after(command) == {}


@pytest.mark.parametrize(
    "command",
    ['eval "sed -i s/1.0/9/ a.py"', "bash -c 'sed -i s/1.0/9/ a.py'",
     "bash <<'E'\nsed -i s/1.0/9/ a.py\nE", "cd . && sh -ec 'sed -i s/1.0/9/ a.py'"],
)  # fmt: skip
def test_a_command_line_in_a_command_line_is_followed(command):
    assert after(command) == after("sed -i s/1.0/9/ a.py") != {}
