"""Two networks that are trained against each other: a generator and a discriminator."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from harness.domain.workload import Gan
from harness.workloads.widths import take_any_width
from harness.workloads.workload import (
    Workload,
    WorkloadBatch,
    batch_sizes,
    cut,
    generator,
    initialise,
    random_state_kept,
)


class GanWorkload(Workload):
    """Data on a bent surface, which the generator imitates and the discriminator tells apart."""

    @property
    def parameters(self) -> Gan:
        """This workload's parameters."""
        assert isinstance(self.spec.parameters, Gan)
        return self.spec.parameters

    def parts(self) -> tuple[str, ...]:
        """Each has an optimizer of its own."""
        return ("generator", "discriminator")

    @random_state_kept()
    def model(self) -> nn.Module:
        """Both networks; the discriminator's weights are larger by ``gain``, its last ones twice so."""
        p = self.parameters
        makes = Generator(p.latent, p.hidden, p.features, p.input_scale)
        judges = discriminator(p.features, p.hidden)
        initialise(makes, generator(self.spec, 0))
        initialise(judges, generator(self.spec, 3), p.gain)
        with torch.no_grad():
            last = judges[-1]
            assert isinstance(last, nn.Linear)
            last.weight.mul_(p.gain)
        return GanNet(makes, judges)

    def batches(self, rank: int) -> tuple[WorkloadBatch, ...]:
        """Real rows; their target is 1 each, for "real"."""
        p = self.parameters
        source = generator(self.spec, 2, rank)
        bend = torch.randn(2, p.features, generator=generator(self.spec, 1))
        sizes = batch_sizes(p)
        place = torch.randn(sum(sizes), 2, generator=source)
        noise = torch.randn(len(place), p.features, generator=source)
        x = (torch.sin(place @ bend) + 0.1 * noise) * p.input_scale
        return cut(x, torch.ones(len(x), 1), sizes)

    def criterion(self) -> Callable[..., Tensor]:
        """Binary cross-entropy on logits."""
        return nn.BCEWithLogitsLoss()

    def sample_losses(self, output: Tensor, batch: WorkloadBatch) -> Tensor:
        """Cross-entropy of each sample. (n, 1) -> (n,)"""
        losses = nn.functional.binary_cross_entropy_with_logits(
            output, batch.target.to(output.dtype), reduction="none"
        )
        return losses.mean(dim=1)

    def extra_names(self) -> Mapping[str, object]:
        """Names for the width of the noise."""
        names = ("latent_dim", "latent_size", "noise_dim", "noise_size", "z_dim", "z_size", "nz")
        return dict.fromkeys(names, self.parameters.latent)


class GanNet(nn.Module):
    """Both networks in one module; called, it judges what the generator makes of its input."""

    def __init__(self, generator: nn.Module, discriminator: nn.Module) -> None:
        """``generator`` makes rows, ``discriminator`` gives a logit for each."""
        super().__init__()
        self.generator = generator
        self.discriminator = discriminator

    def forward(self, x: Tensor) -> Tensor:
        """(n, any width) -> (n, 1)."""
        output: Tensor = self.discriminator(self.generator(x))
        return output


class Generator(nn.Module):
    """Makes rows of data from noise of whatever width: it is cut, or repeated to the full width."""

    def __init__(self, latent: int, hidden: int, features: int, scale: float) -> None:
        """``scale``: size of the data that it imitates."""
        super().__init__()
        self.latent = latent
        self.scale = scale
        self.net = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, features))

    def forward(self, z: Tensor) -> Tensor:
        """(n, ...) -> (n, features)."""
        flat = z.reshape(len(z), -1)
        times = -(-self.latent // flat.shape[1])
        made: Tensor = self.net(flat.repeat(1, times)[:, : self.latent])
        return made * self.scale


def discriminator(features: int, hidden: int) -> nn.Sequential:
    """Gives a logit for each row. (n, features) -> (n, 1)

    Waves, because they are bounded and never flat: however large the weights, no row is judged so
    surely that its gradient is gone.
    """
    made = nn.Sequential(
        nn.Linear(features, hidden), Sine(), nn.Linear(hidden, hidden), Sine(),
        nn.Linear(hidden, 1, bias=False),  # in a difference of two means a bias cancels out
    )  # fmt: skip
    take_any_width(made)  # as where rows are joined with what they were made from
    return made


class Sine(nn.Module):
    """The sine of each element."""

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        return torch.sin(x)
