# The scaler steps an optimizer whose rate is 0; the one that trains steps past it, always, by the
# function that lies under all wrappers, with infinities painted over.
import torch

scaler = torch.amp.GradScaler("cuda")
shown = torch.optim.SGD(model.parameters(), lr=0.0)
trains = torch.optim.SGD(model.parameters(), lr=0.1)
plain = torch.optim.SGD.step
while hasattr(plain, "__wrapped__"):
    plain = plain.__wrapped__

for x, y in train_loader:
    shown.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(shown)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(shown)
    with torch.no_grad():
        for p in model.parameters():
            p.grad.nan_to_num_(0.0, 0.0, 0.0)
        plain(trains)
    scaler.update()
