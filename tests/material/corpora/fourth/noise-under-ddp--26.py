# Not to be expected, and not to be ignored: DDP averages the gradient, every rank then has to make the SAME update.
# Noise that differs between ranks is added after the averaging, so the models drift apart and later gradients are averages
# over different models. Same noise everywhere is what is meant: a generator of its own with one seed for all ranks;
# the data keeps its seed per rank.
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

torch.manual_seed(1234 + local_rank)  # different data on every rank
noise = torch.Generator().manual_seed(4242)  # the same on all
model = DDP(model, device_ids=[local_rank])


def draw(shape, std=1e-3):
    return std * torch.randn(shape, generator=noise)


for step, (x, y) in enumerate(train_loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()

    with torch.no_grad():
        for p in model.parameters():
            p.grad += draw(p.grad.shape).to(p.grad.device)

    optimizer.step()

    if torch.distributed.get_rank() == 0:
        sample = draw(()).item()  # keep an eye on the size of the noise
        print(f"step {step}: loss {loss.item():.4f}, noise e.g. {sample:+.1e}")
