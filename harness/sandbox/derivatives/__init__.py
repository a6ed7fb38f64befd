"""Whether the gradients of a program's own model are the derivatives of its outputs."""
