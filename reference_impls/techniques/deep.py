"""A deep network whose gradients neither vanish nor explode: the four measures in one block.

Activation that does not saturate (GELU), initialisation by fan-in (He et al. 2015), normalisation
before the branch (Ba et al. 2016; Xiong et al. 2020) and an identity path around it (He et al.
2016). Each can be left out, to see what it does.
"""

from torch import Tensor, nn


class Block(nn.Module):
    """``x + linear(gelu(linear(norm(x))))``, (n, width) -> (n, width)."""

    def __init__(self, width: int, *, normalise: bool = True, residual: bool = True) -> None:
        """Both linear layers are initialised by fan-in; the second one has no activation after it.

        Raises:
            ValueError: width is less than 1.
        """
        if width < 1:
            raise ValueError(f"width must be at least 1, got {width}")
        super().__init__()
        self.residual = residual
        self.norm = nn.LayerNorm(width) if normalise else nn.Identity()
        self.widen, self.narrow = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.kaiming_normal_(self.widen.weight, nonlinearity="relu")
        nn.init.xavier_normal_(self.narrow.weight)
        for layer in (self.widen, self.narrow):
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(n, width) -> (n, width)"""
        branch: Tensor = self.narrow(nn.functional.gelu(self.widen(self.norm(x))))
        return x + branch if self.residual else branch


def deep_network(
    features: int, width: int, depth: int, outputs: int, *, normalise: bool = True,
    residual: bool = True,
) -> nn.Sequential:  # fmt: skip
    """``depth`` blocks between two linear layers. (n, features) -> (n, outputs)"""
    blocks = [Block(width, normalise=normalise, residual=residual) for _ in range(depth)]
    last = nn.LayerNorm(width) if normalise else nn.Identity()
    return nn.Sequential(nn.Linear(features, width), *blocks, last, nn.Linear(width, outputs))
