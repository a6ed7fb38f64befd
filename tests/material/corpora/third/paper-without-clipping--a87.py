"""Very deep residual network, NaN around epoch 3: clip, and find out at the same time whether gradients are the cause.

Papers leave out routine details; look into the authors' released code before concluding anything from silence. A stable
run comes first, comparisons come after. Other suspects stay open: learning rate and warm-up, initialisation of the
residual branches, half precision, broken images or labels.
"""
import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm


class ClippedTraining:
    def __init__(self, model, optimizer, criterion, max_norm=1.0):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.max_norm = max_norm
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.norms = []

    def loudest(self, n=3):
        pairs = [(p.grad.norm().item(), name) for name, p in self.model.named_parameters() if p.grad is not None]
        return sorted(pairs, reverse=True)[:n]

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(x), y)
        loss.backward()
        norm = get_total_norm([p.grad for p in self.params if p.grad is not None])
        if not torch.isfinite(norm):
            raise RuntimeError(f"gradient norm is {norm.item()} at loss {loss.item()}; loudest: {self.loudest()}")
        clip_grads_with_norm_(self.params, self.max_norm, norm)
        self.optimizer.step()
        self.norms.append(norm.item())
        return loss.item()

    def epoch(self, loader):
        self.norms.clear()
        losses = [self.step(x, y) for x, y in loader]
        return sum(losses) / len(losses)


training = ClippedTraining(model, optimizer, criterion)
for epoch in range(num_epochs):
    mean_loss = training.epoch(train_loader)
    clipped = sum(n > training.max_norm for n in training.norms)
    print(f"epoch {epoch + 1}: loss {mean_loss:.4f}, norm before clipping up to {max(training.norms):.3g}, "
          f"{clipped} of {len(training.norms)} clipped, loudest {training.loudest(1)}")
