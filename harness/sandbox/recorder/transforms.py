"""Recording inside of ``torch.func`` transforms, where tensors are wrapped and so are new ones."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from torch import Tensor
from torch._C import _functorch


def outside() -> AbstractContextManager[object]:
    """Operations in this block are ordinary ones, whatever transform is being applied."""
    if _functorch.peek_interpreter_stack() is None:
        return nullcontext()
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

    return temporarily_clear_interpreter_stack()


def unwrapped(tensors: Iterable[Tensor]) -> list[Tensor] | None:
    """Their values outside of ``grad``; ``None`` inside of ``vmap``, where rows are seen one by one."""
    found: list[Tensor] = []
    for tensor in tensors:
        inner = tensor
        while _functorch.is_gradtrackingtensor(inner):
            inner = _functorch.get_unwrapped(inner)
        if _functorch.is_functorch_wrapped_tensor(inner):
            return None
        found.append(inner)
    return found


def memory_of(tensor: Tensor) -> int:
    """Where its numbers lie, with those of all views of it; 0 where a transform wraps it."""
    plain = unwrapped([tensor])
    return plain[0].untyped_storage().data_ptr() if plain else 0
