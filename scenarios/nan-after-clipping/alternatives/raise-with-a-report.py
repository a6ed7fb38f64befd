# Stop aloud at the first loss that is not finite, with everything needed to find its origin.
import torch


def describe(name, tensor):
    tensor = tensor.detach().float()
    return (
        f"{name}: min {tensor.min():.4g} max {tensor.max():.4g} "
        f"nan {torch.isnan(tensor).sum().item()} inf {torch.isinf(tensor).sum().item()}"
    )


class NonFiniteLoss(RuntimeError):
    pass


for step, batch in enumerate(train_loader):
    optimizer.zero_grad()
    output = model(batch)
    loss = custom_loss(output.clamp_min(1e-4), target)
    if not torch.isfinite(loss):
        raise NonFiniteLoss(
            f"step {step}: loss {loss.item()}\n" + "\n".join(
                describe(n, t) for n, t in (("output", output), ("target", target))
            )
        )
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0, error_if_nonfinite=True)
    optimizer.step()
    print(f"Loss: {loss.item()}")
