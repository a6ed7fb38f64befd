# Adam, warm-up, a threshold of 5 and an early stop, in a function.
import torch


def train(model, loader, criterion, epochs, max_norm=5.0):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    total_steps = epochs * len(loader)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / max(1, total_steps // 5)))
    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            if not torch.isfinite(loss):
                raise RuntimeError(f"loss is {loss.item()} in epoch {epoch}, step {step}")
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            warmup.step()
            if step == 0:
                print(f"epoch {epoch}: loss {loss.item():.3f} grad norm {norm.item():.2f}")


train(model, train_loader, criterion, num_epochs)
