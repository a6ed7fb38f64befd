"""What values are, from the operations between them."""

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.flow.linking import Linking
from harness.sandbox.binding.roles.signs import goes_back_as_it_is


class Arithmetic(Linking):
    """Operations as evidence."""

    def arithmetic(self) -> None:
        """Look at every operation again."""
        for operation, left, right, result in self.reader.operations:
            if all(n.tags & {"number", "constant"} for n in (left, right)):
                self.graph.tag(result, "number")
            self._division(operation, left, right)
            self._pair(operation, left, right, result)
            self._pair(operation, right, left, result)

    def _division(self, operation: str, left: Node, right: Node) -> None:
        if operation != "Div":
            return
        if "loss" in left.tags and "loss" not in right.tags:
            self.graph.use(right, "divides_loss")
        elif right.tags & {"grad", "norm"}:
            if "constant" not in left.tags:
                self.graph.use(left, "max_norm")
        elif "grad" in left.tags:
            self.graph.use(right, "divides_grad")

    def _pair(self, operation: str, one: Node, other: Node, result: Node) -> None:
        """What ``other`` must be, being combined with ``one``."""
        if other.tags & {"constant", "output", "loss", "norm"}:
            return
        if operation == "Sub" and "output" in one.tags:
            self.graph.use(other, "loss_target")
            self.graph.tag(result, "loss")
        elif operation == "Mult":
            self._product(one, other, result)

    def _product(self, one: Node, other: Node, result: Node) -> None:
        if "loss" in one.tags:
            self.graph.use(other, "multiplies_loss")
            if "number" in other.tags or goes_back_as_it_is(result, self.graph.calls):
                return
            if "data" in other.tags or hints.first(other.all_names(), ("mask",)):
                self.graph.use(one, "per_sample")
        elif "output" in one.tags:
            self.graph.use(other, "multiplies_output")
        elif "length" in one.tags and "length" not in other.tags:
            self.graph.use(other, "epochs")
