"""What loops train on: one workload a file, built bit-identically from its spec in any process."""

from harness.domain.workload import DECLARED, WorkloadSpec
from harness.workloads.cnn import CnnWorkload
from harness.workloads.deep_residual import DeepResidualWorkload
from harness.workloads.gan import GanWorkload
from harness.workloads.language import LanguageWorkload
from harness.workloads.mlp import MlpWorkload
from harness.workloads.padded import PaddedWorkload
from harness.workloads.positive_loss import PositiveLossWorkload
from harness.workloads.transformer import TransformerWorkload
from harness.workloads.two_part import TwoPartWorkload
from harness.workloads.workload import Workload, WorkloadBatch

__all__ = ["BUILDERS", "Workload", "WorkloadBatch", "build"]

BUILDERS: dict[str, type[Workload]] = {
    "mlp": MlpWorkload,
    "deep-residual": DeepResidualWorkload,
    "positive-loss": PositiveLossWorkload,
    "padded": PaddedWorkload,
    "transformer": TransformerWorkload,
    "language": LanguageWorkload,
    "cnn": CnnWorkload,
    "two-part": TwoPartWorkload,
    "gan": GanWorkload,
}
"""Builder of every workload that ``harness.domain.workload`` declares."""


def build(spec: WorkloadSpec) -> Workload:
    """The workload of a spec. Raises ``KeyError`` for a name that nobody declares, ``TypeError`` where
    what a bank's builder gives is no workload.
    """
    if spec.name in BUILDERS:
        return BUILDERS[spec.name](spec)
    built = DECLARED[spec.name].builder(spec)
    if not isinstance(built, Workload):
        raise TypeError(f"the builder of {spec.name} gives no harness.workloads.Workload")
    return built
