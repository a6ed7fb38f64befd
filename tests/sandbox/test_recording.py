"""Tensors that travel in one piece are cut apart where somebody looks at them."""

import pickle

import pytest

from harness.domain.recording import JoinedTensors, TensorBytes, TensorLayout

DESCRIBED = (
    TensorLayout("grad:w", "uint8", (2, 2), 4),
    TensorLayout("empty", "float32", (0,), 0),
    TensorLayout("grad:b", "uint8", (1,), 1),
)
CUT = [
    TensorBytes("grad:w", "uint8", (2, 2), b"abcd"),
    TensorBytes("empty", "float32", (0,), b""),
    TensorBytes("grad:b", "uint8", (1,), b"e"),
]


@pytest.fixture
def joined() -> JoinedTensors:
    return JoinedTensors(DESCRIBED, b"abcde")


def test_each_tensor_has_its_own_bytes(joined):
    assert [*joined] == CUT
    assert joined[-1] == CUT[-1]
    assert joined[:2] == tuple(CUT[:2])
    assert len(joined) == 3


def test_what_was_looked_at_travels_as_well_as_what_was_not(joined):
    unseen = pickle.dumps(joined)
    seen = [*joined]
    assert [*pickle.loads(unseen)] == [*pickle.loads(pickle.dumps(joined))] == seen
    assert pickle.dumps(joined) == unseen
