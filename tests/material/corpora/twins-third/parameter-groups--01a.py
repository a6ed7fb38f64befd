import torch

LIMITS = {"backbone": 0.5, "head": 5.0}
params = {name: list(getattr(model, name).parameters()) for name in LIMITS}
optimizer = torch.optim.SGD(
    [{"params": params[name], "name": name, "max_norm": LIMITS[name]} for name in LIMITS], lr=2e-3
)


def clip_groups(opt):
    for group in opt.param_groups:
        torch.nn.utils.clip_grad_norm_([p for g in opt.param_groups for p in g["params"]], group["max_norm"])


for epoch in range(2):
    for x, y in train_loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x), y)
        loss.backward()
        clip_groups(optimizer)
        optimizer.step()
