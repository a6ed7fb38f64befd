from torch.nn.utils import get_total_norm

norms = []
for images, labels in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    # Watched, not changed. A reason to clip would be a norm far outside of what is usual here.
    norms.append(get_total_norm([p.grad for p in model.parameters()]).item())
    optimizer.step()

print(f"gradient norm: median {sorted(norms)[len(norms) // 2]:.2f}, largest {max(norms):.2f}")
