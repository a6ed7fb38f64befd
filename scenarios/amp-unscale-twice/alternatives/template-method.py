# A trainer unscales once and then calls a method that does nothing; monitoring overrides that method.
import torch


class Trainer:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cuda")

    def on_true_gradients(self, step):
        pass

    def fit(self, loader):
        for step, (x, y) in enumerate(loader):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(x), y)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(optimizer)
            self.on_true_gradients(step)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            self.scaler.step(optimizer)
            self.scaler.update()


class MonitoredTrainer(Trainer):
    def on_true_gradients(self, step):
        total = sum(p.grad.norm() ** 2 for p in model.parameters() if p.grad is not None) ** 0.5
        print(f"step {step}: gradient norm {total:.3f}")


MonitoredTrainer().fit(train_loader)
