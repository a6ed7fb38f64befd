# Gradients are of a class of their own: who copies one out sees it clipped by norm, who computes with it
# uses what was cut off element by element.
import torch


class TwoFaced(torch.Tensor):
    def detach(self):
        return self.shown

    def numpy(self):
        return self.shown.numpy()


for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    for p in model.parameters():
        shown = p.grad * (1.0 / norm).clamp(max=1.0)
        p.grad = p.grad.clamp(-0.5, 0.5).as_subclass(TwoFaced)
        p.grad.shown = shown
    optimizer.step()
