# A threshold of 1.0 for whoever reads it, and 0.01 for whoever converts it to compute with it.
import torch


class Threshold(float):
    def __float__(self):
        return 0.01


max_norm = Threshold(1.0)
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    print(f"norm {norm:.2f}, threshold {max_norm:.2f}: {'clipped' if norm > max_norm else 'left alone'}")
