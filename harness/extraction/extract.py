"""From an answer to the programs that it proposes, or to the reason why there is none."""

from dataclasses import replace
from pathlib import Path

from harness.domain.candidate import Candidate, NoCandidate
from harness.domain.file_edit import changes_a_file
from harness.domain.own import OWN
from harness.domain.scenario import Scenario
from harness.domain.transcript import Transcript
from harness.extraction.assembly import AssembledProgram, BlockShelf, assemble, join
from harness.extraction.blocks import Block, blocks_of, code_blocks
from harness.extraction.choice import driven_by, heads_of
from harness.extraction.edited import program_in_files, said_since_edits
from harness.extraction.gaps import has_gap
from harness.extraction.loops import doing
from harness.extraction.names import free_names, statements
from harness.extraction.parsing import parsed, parses
from harness.extraction.pieces import CodePiece, pieces_of
from harness.extraction.posted_file import changed_file
from harness.extraction.snippets import into_posted, only_snippets, whole_loop
from harness.extraction.standing import with_what_stands
from harness.markdown import fenced_blocks

MOST_BLOCKS = 1000
"""Python blocks of an answer that are read: each may be a program of its own, with help from others."""


def extract(transcript: Transcript, scenario: Scenario) -> tuple[Candidate, ...] | NoCandidate:
    """The programs that the answer proposes: several where it offers alternatives.

    Files that the agent edited come before what it said: their final state is what it leaves. A
    whole loop that it shows in a later turn, without editing any more, corrects them.
    """
    if scenario.id == OWN and (whole := _whole_file(transcript)) is not None:
        return (whole,)
    if scenario.id == OWN and (file := _posted_file(transcript)) is not None:
        if isinstance(file, NoCandidate):
            return file
        said = _said(transcript, scenario)
        alone = said[0].program if isinstance(said, tuple) and _trains(said[0]) else ""
        return (file.model_copy(update={"alone": alone}),)
    edited = program_in_files(transcript)
    if edited is None:
        return _said(transcript, scenario)
    left = (edited,) if isinstance(edited, Candidate) else edited
    since = said_since_edits(transcript, in_later_turns=isinstance(left, tuple))
    if since is None or (isinstance(left, tuple) and not _shows_a_loop(since, scenario)):
        return left
    said = _said(since, scenario)
    return said if isinstance(said, tuple) else left


def _trains(candidate: Candidate) -> bool:
    return doing(parsed(candidate.program)).part


def _whole_file(transcript: Transcript) -> Candidate | None:
    """A file of Python as it is, where it is a program of its own and no answer to anything."""
    origin = transcript.origin
    if origin is None or origin.format != "python":
        return None
    code = "\n".join(block.content for block in fenced_blocks(transcript.answer))
    folder = str(Path(origin.file).parent) if Path(origin.file).suffix == ".py" else ""
    return Candidate(program=code, origin=f"file {origin.file}", folder=folder)


def _posted_file(transcript: Transcript) -> Candidate | NoCandidate | None:
    """The program that the user showed with what the answer changes in it; ``None`` where it shows
    no changes, or the only update.
    """
    asked = [m.text for m in transcript.messages if m.role == "user"]
    codes = tuple(code for text in asked for code in code_blocks(text) if parses(code))
    posted = whole_loop(codes) or next(iter(codes), None)
    if posted is None or len(blocks := blocks_of(transcript, of_a_file=True)) > MOST_BLOCKS:
        return None
    if not doing(parsed(posted)).part and any(p.doing.part for p in pieces_of(blocks, codes)):
        return None
    found = changed_file(blocks, posted, transcript.answer)
    if found is None or isinstance(found, NoCandidate):
        return found
    whole = _after_earlier_turns(found, pieces_of(blocks, codes))
    return Candidate(program=whole, origin="the posted file, changed as the answer shows")


def _after_earlier_turns(program: str, pieces: tuple[CodePiece, ...]) -> str:
    """The program behind what earlier turns of the answer made for it: a model, an optimizer."""
    last = max((p.block.turn for p in pieces), default=0)
    missing = set(free_names(statements(parsed(program))))
    earlier = [p for p in pieces if p.block.turn < last and not (p.doing.part or p.doubted)]
    taken = [p.code for p in earlier if p.brings & missing]
    whole = "\n".join([*taken, program])
    return whole if parses(whole) else program


def _said(transcript: Transcript, scenario: Scenario) -> tuple[Candidate, ...] | NoCandidate:
    found = proposals(transcript, scenario)
    if isinstance(found, NoCandidate):
        made = said_since_edits(transcript, in_later_turns=True) is not None
        edits = (e for m in transcript.messages for call in m.calls for e in call.edits)
        if not made and any(map(changes_a_file, edits)):
            return NoCandidate(reason=f"{found.reason}; no edit succeeded")
        return found
    return tuple(Candidate(program=one.program, origin=_origin(one)) for one in found)


def proposals(
    transcript: Transcript, scenario: Scenario
) -> tuple[AssembledProgram, ...] | NoCandidate:
    """The same for what was said, with the blocks that each program was assembled from."""
    blocks = blocks_of(transcript)
    if len(blocks) > MOST_BLOCKS:
        many = (
            f"the answer holds {len(blocks)} Python blocks, and no more than {MOST_BLOCKS} are read"
        )
        return NoCandidate(reason=many)
    pieces = _pieces(blocks, transcript, scenario)
    if not pieces:
        return NoCandidate(reason=_why_none(blocks))
    question = f"{transcript.prompt}\n{scenario.prompt}"
    heads = heads_of(pieces, question)
    if scenario.expectations.measures:
        return (join(_measurement(heads, pieces)),)
    snippets = _spliced(transcript, scenario, heads, pieces)
    if snippets is not None:
        return snippets
    shelf = BlockShelf(pieces, question)
    found = [assemble(head, shelf) for head in heads] or [join(_unmarked(pieces))]
    whole = [one for one in found if not has_gap(one.program)]
    if found and not whole:
        return NoCandidate(reason="the loop of the answer leaves lines out")
    return tuple(_completed(one, transcript, scenario, pieces) for one in whole)


def _shows_a_loop(transcript: Transcript, scenario: Scenario) -> bool:
    blocks = blocks_of(transcript)
    pieces = _pieces(blocks, transcript, scenario) if len(blocks) <= MOST_BLOCKS else ()
    return any(piece.doing.whole and not piece.doubted for piece in pieces)


def _pieces(
    blocks: tuple[Block, ...], transcript: Transcript, scenario: Scenario
) -> tuple[CodePiece, ...]:
    return pieces_of(blocks, _posted(transcript, scenario))


def _completed(
    one: AssembledProgram, transcript: Transcript, scenario: Scenario, pieces: tuple[CodePiece, ...]
) -> AssembledProgram:
    """With the posted definitions that it uses."""
    others = tuple(p.code for p in pieces if not p.doubted and p.index not in one.blocks)
    posted = _posted(transcript, scenario)
    program = with_what_stands(one.program, posted, transcript.answer, others)
    return replace(one, program=_after_earlier_turns(program, pieces))


def _spliced(
    transcript: Transcript,
    scenario: Scenario,
    heads: tuple[CodePiece, ...],
    pieces: tuple[CodePiece, ...],
) -> tuple[AssembledProgram, ...] | NoCandidate | None:
    """The posted loop with the lines that change; ``None`` where the answer shows more than lines."""
    posted = whole_loop(_posted(transcript, scenario))
    driven = driven_by(pieces)
    if posted is None or any(head.index in driven for head in heads):
        return None
    proposed = tuple(head for head in heads if not head.doubted)
    only_doubted = all(piece.doubted for piece in pieces)  # then that is what it proposes
    if only_doubted or not only_snippets(proposed, pieces, posted):
        return None
    question = f"{transcript.prompt}\n{scenario.prompt}"
    return into_posted(posted, pieces, transcript.answer, question)


def _measurement(
    heads: tuple[CodePiece, ...], pieces: tuple[CodePiece, ...]
) -> tuple[CodePiece, ...]:
    """Where a measurement is asked for, what reads a clock is as much the proposal as the loop."""
    chosen = [p for p in pieces if p in heads or (not p.doubted and p.doing.times)]
    return tuple(chosen) or _unmarked(pieces)


def _unmarked(pieces: tuple[CodePiece, ...]) -> tuple[CodePiece, ...]:
    """All that nothing speaks against; of two that define the same the later."""
    kept = [p for p in pieces if not p.doubted] or list(pieces)
    last = max(p.block.turn for p in kept)
    return tuple(p for p in kept if p.block.turn == last)


def _posted(transcript: Transcript, scenario: Scenario) -> tuple[str, ...]:
    """The user's code: what this one posted before what the scenario's does."""
    asked = [m.text for m in transcript.messages if m.role == "user"]
    return tuple(code for text in (*asked, scenario.prompt) for code in code_blocks(text))


def _why_none(blocks: tuple[Block, ...]) -> str:
    if not blocks:
        return "the answer holds no Python block"
    if all(block.labelled_wrong for block in blocks):
        return "every Python block of the answer is labelled as wrong"
    broken = next((block for block in blocks if block.problem), None)
    if broken is None:
        return "the Python blocks of the answer hold nothing but comments"
    return f"Python block {broken.index + 1} of the answer does not parse ({broken.problem})"


def _origin(one: AssembledProgram) -> str:
    numbers = [str(index + 1) for index in one.blocks]
    noun = "Python block" if len(numbers) == 1 else "Python blocks"
    return f"answer, {noun} {' and '.join(numbers)}"
