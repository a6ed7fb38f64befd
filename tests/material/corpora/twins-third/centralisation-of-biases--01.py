import torch


class CentralisedSGD(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None or p.dim() < 2:
                    continue
                p.grad.sub_(p.grad.flatten(1).mean(1).view(-1, *[1] * (p.dim() - 1)))
        return super().step(closure)


opt = CentralisedSGD(model.parameters(), lr=optimizer.param_groups[0]["lr"])
for epoch in range(2):
    for x, y in train_loader:
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()
