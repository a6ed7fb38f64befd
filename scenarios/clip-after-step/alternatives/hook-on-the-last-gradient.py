# A hook counts gradients as they arrive, and clips when the last one is there, still inside backward.
import torch

params = [p for p in model.parameters() if p.requires_grad]
arrived = 0


def clip_when_complete(_):
    global arrived
    arrived += 1
    if arrived == len(params):
        arrived = 0
        torch.nn.utils.clip_grad_norm_(params, max_norm=1.0)


for p in params:
    p.register_post_accumulate_grad_hook(clip_when_complete)

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
