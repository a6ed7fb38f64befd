# fp16 is fine and so are the hyperparameters. The clip was applied to gradients that are still
# multiplied by the loss scale (65536 at the start), so every update got norm 1 and was then
# divided by 65536. One call is missing: scaler.unscale_(optimizer) before the clip.
import torch
from torch.nn.utils import clip_grad_norm_


def train_one_epoch(model, loader, optimizer, criterion, scaler, max_norm=1.0):
    norms = []
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)

        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norms.append(float(clip_grad_norm_(model.parameters(), max_norm)))
        scaler.step(optimizer)      # knows that unscaling is done; skips on inf
        scaler.update()
    return norms


scaler = torch.amp.GradScaler("cuda")
norms = train_one_epoch(model, train_loader, optimizer, criterion, scaler)
print("norms before clipping:", " ".join(f"{n:.3f}" for n in norms))
