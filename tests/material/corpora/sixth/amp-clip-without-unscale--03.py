# The clip has to see true gradients: scale -> backward -> unscale_ -> clip -> step -> update.
from enum import IntEnum


class Stage(IntEnum):
    READY = 0
    SCALED = 1
    TRUE = 2


class MixedPrecisionStep:
    """A small state machine: each stage can only follow the one before it."""

    def __init__(self, optimizer, scaler, max_norm):
        self.optimizer, self.scaler, self.max_norm = optimizer, scaler, max_norm
        self.stage = Stage.READY

    def _advance(self, expected, reached):
        assert self.stage is expected, f"{reached.name} cannot follow {self.stage.name}"
        self.stage = reached

    def backward(self, loss):
        self._advance(Stage.READY, Stage.SCALED)
        self.scaler.scale(loss).backward()
        return self

    def clip(self):
        self._advance(Stage.SCALED, Stage.TRUE)
        self.scaler.unscale_(self.optimizer)
        grads = [p.grad for g in self.optimizer.param_groups for p in g["params"] if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(grads)
        torch._foreach_mul_(grads, (self.max_norm / (norm + 1e-6)).clamp(max=1.0))
        return self

    def apply(self):
        self._advance(Stage.TRUE, Stage.READY)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()


scaler = GradScaler()
update = MixedPrecisionStep(optimizer, scaler, max_norm=1.0)

for x, y in train_loader:
    with autocast():
        loss = criterion(model(x), y)
    update.backward(loss).clip().apply()
