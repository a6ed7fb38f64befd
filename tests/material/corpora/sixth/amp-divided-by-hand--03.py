# unscale_() tells the scaler that the gradients are in true units, so that step() does not divide again.
import logging

logger = logging.getLogger("amp")
scaler = GradScaler()


def true_gradients(parameters, scale):
    """The gradients in true units, for the log and for the clip."""
    for p in parameters:
        if p.grad is not None:
            p.grad.div_(scale)
            yield p


for x, y in train_loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()

    ready = list(true_gradients(model.parameters(), scaler.get_scale()))
    scaler.unscale_(optimizer)          # marks them as unscaled for step()
    norm = clip_grad_norm_(ready, max_norm=1.0)
    logger.info("norm %.3g", norm)

    scaler.step(optimizer)
    scaler.update()
