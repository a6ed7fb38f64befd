# A pre-step hook clips each group with a generator of its parameters.
import torch

optimizer = torch.optim.SGD(
    [
        {"params": list(model.backbone.parameters()), "lr": 5e-4, "name": "backbone"},
        {"params": list(model.head.parameters()), "lr": 2e-3, "name": "head"},
    ]
)
threshold = dict(backbone=1.0, head=7.0)


@optimizer.register_step_pre_hook
def clip_groups(opt, *_):
    for group in opt.param_groups:
        torch.nn.utils.clip_grad_norm_((p for p in group["params"]), threshold[group["name"]])


def train(loader):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


train(train_loader)
