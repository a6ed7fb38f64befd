# The clip stands in the closure, after its backward.
import torch

norms = []
for x, y in train_loader:

    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)))
        return loss

    optimizer.step(closure)

print("largest norm", max(norms), "median", sorted(norms)[len(norms) // 2])
