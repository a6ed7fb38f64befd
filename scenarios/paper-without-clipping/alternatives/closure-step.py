# optimizer.step(closure): the gradient comes to be inside of step.
import torch


def make_closure(x, y):
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        return loss

    return closure


for epoch in range(num_epochs):
    for x, y in train_loader:
        loss = optimizer.step(make_closure(x, y))
    print(epoch + 1, loss.item())
