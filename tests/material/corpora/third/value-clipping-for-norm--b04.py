# clip_value is not what needs tuning. Cutting element by element bends the gradient away from its
# direction; scaling the whole gradient by ONE factor does not. Same place in the loop, same
# protection, nothing restructured.


def clip_by_global_norm(params, max_norm=1.0, eps=1e-6):
    """Scale all gradients by one factor so that their global norm is at most max_norm."""
    grads = [p.grad for p in params if p.grad is not None]
    total = sum(g.detach().norm(2) for g in grads)
    coef = max_norm / (total + eps)
    if coef < 1:
        for g in grads:
            g.mul_(coef)
    return total


largest = 0.0
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    largest = max(largest, float(clip_by_global_norm(model.parameters(), max_norm=1.0)))
    optimizer.step()

print(f"largest norm before clipping: {largest:.2f}")
