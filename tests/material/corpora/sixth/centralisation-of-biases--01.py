# Gradient centralisation for matrices and kernels only. A vector has no input axes: its mean
# is over all entries, and a single bias would be left with exactly zero.
import torch


def centralised(g):
    return g - g.mean(dim=tuple(range(1, g.ndim)), keepdim=True)


class CentralisedSGD(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                match p.grad:
                    case None:
                        continue
                    case g if g.ndim > 1:
                        p.grad = centralised(g)
                    case _:
                        pass
        return super().step(closure)


optimizer = CentralisedSGD(model.parameters(), lr=optimizer.param_groups[0]["lr"])

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
