# scaler.step() cannot know that you divided p.grad yourself, so it divides by the scale again.
# Let the scaler do it with unscale_(): it remembers that, and step() will not repeat it.
# Leave the learning rate where it is.
from torch.amp import GradScaler, autocast
from torch.nn.utils import clip_grad_norm_

scaler = GradScaler("cuda")

for step, (x, y) in enumerate(train_loader):
    with autocast("cuda"):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    scaler.unscale_(optimizer)
    norm = clip_grad_norm_(model.parameters(), max_norm=1.0)

    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    print(f"norm {norm.item():.2f}")
