# Gradient centralisation for matrices only: a bias has no axis to take a mean over but its own.
def centre(grad):
    return grad - grad.mean(dim=tuple(range(1, grad.dim())), keepdim=True)


for name, weight in model.named_parameters():
    if weight.dim() > 1:
        weight.register_hook(centre)

for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
