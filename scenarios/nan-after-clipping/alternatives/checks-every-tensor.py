# Every tensor is checked, the input before it enters the model.
import torch
def check(name, t, step):
    if not torch.isfinite(t).all():
        raise FloatingPointError(f"{name} not finite at step {step}: {t}")
for step, (batch, target) in enumerate(train_loader):
    check("input", batch, step); check("target", target, step)
    optimizer.zero_grad()
    output = model(batch)
    check("output", output, step)
    safe = torch.nn.functional.softplus(output, beta=50) + 1e-4
    loss = custom_loss(safe, target)
    check("loss", loss, step)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    check("grad norm", norm, step)
    optimizer.step()
