from functools import partial

import torch
from torch.amp import GradScaler
from tqdm.auto import tqdm

half = partial(torch.autocast, device_type="cuda", dtype=torch.float16)
scaler = GradScaler("cuda", init_scale=2.0**14)
steps_per_update = 4
n_batches = len(train_loader)
state = {"update": 0, "scaler": None}


def phase(i):
    if (i + 1) % steps_per_update == 0:
        return "update"
    return "flush" if i + 1 == n_batches else "gather"


optimizer.zero_grad()
for i, batch in enumerate(tqdm(train_loader, disable=True)):
    x, y = batch
    divisor = min(steps_per_update, n_batches - (i // steps_per_update) * steps_per_update)
    with half():
        loss = criterion(model(x), y)
    scaler.scale(loss / divisor).backward()

    match phase(i):
        case "gather":
            continue
        case "update" | "flush":
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=False)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            state.update(update=state["update"] + 1, scaler=scaler.state_dict())
