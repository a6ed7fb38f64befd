# The first factor was 0 / 5: a whole window computed and thrown away. Count from the first point above
# zero, (update + 1) / warmup. The rate is written by a step pre-hook, so it cannot run ahead of the updates.
from dataclasses import dataclass, field


@dataclass
class WarmUp:
    optimizer: object
    updates: int
    done: int = 0
    base: list = field(default_factory=list)

    def __post_init__(self):
        self.base = [g["lr"] for g in self.optimizer.param_groups]
        self.optimizer.register_step_pre_hook(self.before_step)

    def before_step(self, optimizer, args, kwargs):
        self.done += 1
        factor = min(1.0, self.done / self.updates)
        for group, base in zip(optimizer.param_groups, self.base):
            group["lr"] = base * factor


accumulation_steps = 4
warm_up = WarmUp(optimizer, updates=5)

for epoch in range(num_epochs):
    window = []
    for i, batch in enumerate(train_loader, start=1):
        window.append(batch)
        if len(window) == accumulation_steps or i == len(train_loader):
            optimizer.zero_grad()
            for x, y in window:
                (criterion(model(x), y) / len(window)).backward()
            optimizer.step()
            window = []
