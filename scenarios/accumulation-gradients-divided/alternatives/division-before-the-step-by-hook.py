# A hook of the optimizer divides: whoever calls step cannot forget it, nor do it twice.
from collections import Counter

accumulation_steps = 4
count = Counter()


def average(opt, args, kwargs):
    for group in opt.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                p.grad.div_(count["backward"])
    count.clear()


optimizer.register_step_pre_hook(average)

optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    count["backward"] += 1
    if (i + 1) % accumulation_steps == 0 or i + 1 == len(train_loader):
        optimizer.step()
        optimizer.zero_grad()
