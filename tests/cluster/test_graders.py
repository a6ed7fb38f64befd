"""The graders of a cluster: who is asked, who is asked instead, and what is said of it."""

import threading

import pytest

from harness.cluster import graders as module
from harness.cluster.graders import TRIES, Graders
from harness.cluster.node_grader import NodeWelcome
from harness.cluster.nodes import ClusterNode
from harness.cluster.sameness import HarnessBuild
from harness.domain.candidate import Candidate
from harness.domain.errors import CannotExecuteHere, HarnessFault
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from tests.fakes.patience import PATIENCE
from tests.fakes.ray import FakeRay, RayError, RayTaskError
from tests.fakes.runs import eventually

ASKED = (
    Candidate(program="pass", origin="test"),
    WorkloadSpec.model_validate({"name": "mlp", "parameters": {}}),
    Probe(name="quiet", lifts=""),
)


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch):
    """Nobody waits a second for the next look at which nodes there are."""
    monkeypatch.setattr(module, "LOOK", 0.01)


def answering(answer, notes=(), refusal=None):
    """A node that welcomes, and then answers so: a value, or an exception to raise."""

    def node(method, given):
        if method == "open":
            return NodeWelcome("here", HarnessBuild.here(), refusal, notes)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer

    return node


def opened(ray, most=None):
    said = []
    return Graders(ray, most, said.append), said


def test_what_a_grader_answers_is_what_the_caller_gets():
    """And what its jail lacks is known by then."""
    graders, said = opened(FakeRay({"a": answering("recording", notes=("no landlock",))}))
    with graders:
        assert graders.wait_for_one() == ("no landlock",)
        assert graders.execute(*ASKED) == "recording"
    assert said == []


def test_what_a_lost_grader_was_asked_goes_to_another_node():
    """Nothing is lost but time."""
    lost = iter([RayError("the node died")])

    def dies_once():
        raise next(lost)

    ray = FakeRay({"a": answering(dies_once)})
    graders, said = opened(ray)
    with graders:
        graders.wait_for_one()
        ray.answers["a"] = answering(RayError("the node died"))
        ray.answers["b"] = answering("recording")
        answer = graders.execute(*ASKED)

    assert answer == "recording"
    assert {node for node, _ in ray.started} == {"a", "b"}
    assert said[0] == "a grader on node a (a) was lost; others do its work"


def test_the_third_grader_that_is_lost_makes_it_a_fault_of_ours_with_the_reason():
    """A program that brings down whatever it runs on does not go on for ever."""
    tried = []

    def dies():
        tried.append(1)
        raise RayError("it was killed for want of memory")

    graders, _ = opened(FakeRay({"a": answering(dies)}))
    with graders, pytest.raises(HarnessFault, match="for want of memory"):
        graders.execute(*ASKED)

    assert len(tried) == TRIES


def test_what_a_grader_itself_says_is_final():
    """It lives: another would say the same."""
    tried = []

    def fails():
        tried.append(1)
        raise RayTaskError(HarnessFault("the oracle failed"))

    graders, said = opened(FakeRay({"a": answering(fails)}))
    with graders, pytest.raises(HarnessFault, match="the oracle failed"):
        graders.execute(*ASKED)

    assert len(tried) == 1
    assert said == []


def test_a_node_that_cannot_jail_takes_no_program_and_says_why():
    """The others take them."""
    ray = FakeRay({"a": answering("wrong", refusal="it has no seccomp"), "b": answering("right")})
    graders, said = opened(ray)
    with graders:
        answers = {graders.execute(*ASKED) for _ in range(8)}
        assert eventually(lambda: said)

    assert answers == {"right"}
    assert said == ["node a (a) takes no programs: it has no seccomp"]


def test_where_no_node_takes_programs_the_reasons_are_told_and_nobody_waits():
    """It is the user's cluster that lacks something."""
    graders, _ = opened(FakeRay({"a": answering("", refusal="it has no seccomp")}))
    with graders, pytest.raises(CannotExecuteHere, match=r"node a .* it has no seccomp"):
        graders.wait_for_one()


def test_closing_ends_calls_that_are_under_way():
    """Ctrl-C does not wait for a program that runs for hours."""
    asked = threading.Event()

    def never():
        asked.set()

    graders, _ = opened(FakeRay({"a": answering(never)}))
    ended = []

    def ask():
        try:
            graders.execute(*ASKED)
        except HarnessFault as fault:
            ended.append(str(fault))

    with graders:
        asking = threading.Thread(target=ask)
        asking.start()
        assert asked.wait(PATIENCE)
    asking.join(PATIENCE)

    assert ended == ["The cluster's graders are closed."]


@pytest.mark.parametrize(
    ("cores", "shares"), [(1, [1]), (4, [4]), (5, [2, 3]), (9, [3, 3, 3]), (64, [4] * 16)]
)
def test_a_node_is_shared_out_evenly_to_graders_of_four_cores_at_most(cores, shares):
    """One process of Python cannot keep sixty-four cores busy."""
    assert list(ClusterNode("id", "host", cores).shares) == shares


def test_no_more_cores_are_used_than_were_asked_for():
    """Others work on that cluster too."""
    ray = FakeRay({"a": answering("x"), "b": answering("x"), "c": answering("x")})
    graders, _ = opened(ray, most=3)
    with graders:
        graders.wait_for_one()

    assert [cores for _, cores in ray.started] == [2, 1]


def test_another_harness_or_another_torch_is_refused_by_its_digest_or_version():
    """Their verdicts would not be ours."""
    ours = HarnessBuild("a" * 64, "2.13.0")

    assert ours.refusal_of(HarnessBuild("a" * 64, "2.13.0")) is None
    assert "another harness (bbbbbbbbbbbb)" in ours.refusal_of(HarnessBuild("b" * 64, "2.13.0"))
    assert "torch 2.6.0" in ours.refusal_of(HarnessBuild("a" * 64, "2.6.0"))


def test_a_node_that_lacks_a_property_of_an_installed_package_is_refused():
    """Its scenarios cannot be judged there."""
    ours = HarnessBuild("a" * 64, "2.13.0", frozenset({"clip-order", "of-a-package"}))
    theirs = HarnessBuild("a" * 64, "2.13.0", frozenset({"clip-order", "another"}))

    assert ours.refusal_of(theirs).startswith("it lacks of-a-package: install")
