# No unscale_: scaler.step divides, and a hook in front of the optimizer's step clips what is left.
import torch

scaler = torch.amp.GradScaler("cuda")
norms = []


@optimizer.register_step_pre_hook
def clip_true_gradients(opt, args, kwargs):
    norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0).item())


for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
print("norms", [f"{norm:.2f}" for norm in norms])
