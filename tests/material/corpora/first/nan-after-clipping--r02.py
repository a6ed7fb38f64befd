import logging

import torch

log = logging.getLogger("train")
logging.basicConfig(level=logging.INFO)


def describe(name, t):
    t = t.detach()
    bad = (~torch.isfinite(t)).sum().item()
    log.error("  %s: min %.4g max %.4g non-finite %d", name, t.min().item(), t.max().item(), bad)


def train_step(batch, step):
    output = model(batch)
    # custom_loss needs predictions > 0; clamp keeps value and gradient finite outside of that
    loss = custom_loss(torch.clamp(output, min=1e-3), target)

    if torch.isnan(loss) or torch.isinf(loss):
        log.error("step %d: loss is %s before backward", step, loss.item())
        describe("input", batch)
        describe("output", output)
        describe("target", target)
        return None

    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    if not torch.isfinite(norm):
        log.error("step %d: finite loss %.4g, non-finite gradient", step, loss.item())
        return None
    optimizer.step()
    return loss.item()


for step, batch in enumerate(train_loader):
    value = train_step(batch, step)
    if value is not None:
        log.info("step %d loss %.4f", step, value)
