# Whoever wants true gradients subscribes; they are made once and handed to all of them in turn.
import torch


class Update:
    def __init__(self, opt, *listeners):
        self.opt, self.listeners = opt, listeners
        self.scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss):
        self.opt.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        for listener in self.listeners:
            listener([p for group in self.opt.param_groups for p in group["params"]])
        self.scaler.step(self.opt)
        self.scaler.update()


def log(params):
    print(f"gradient norm {torch.stack([p.grad.norm() for p in params]).norm():.3f}")


def clip(params):
    torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)


update = Update(optimizer, log, clip)
for x, y in train_loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    update(loss)
