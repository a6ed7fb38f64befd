import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from accelerate import Accelerator
from accelerate.utils import set_seed

GRAD_ACC = 4


def make_data():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(960, 12, generator=g)
    w = torch.randn(12, 3, generator=g)
    y = (x @ w + 0.3 * torch.randn(960, 3, generator=g)).argmax(1)
    return TensorDataset(x[:800], y[:800]), TensorDataset(x[800:], y[800:])


def get_model():
    return nn.Sequential(nn.Linear(12, 48), nn.GELU(), nn.Linear(48, 3))


def main():
    set_seed(1234)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=GRAD_ACC)
    train_ds, eval_ds = make_data()
    model = get_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    train_dl = DataLoader(train_ds, batch_size=10, shuffle=True)
    eval_dl = DataLoader(eval_ds, batch_size=80)
    num_epochs = 5
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=num_epochs * len(train_dl) // GRAD_ACC)
    model, optimizer, train_dl, eval_dl, scheduler = accelerator.prepare(model, optimizer, train_dl, eval_dl, scheduler)

    for epoch in range(num_epochs):
        model.train()
        total = 0.0
        for batch in train_dl:
            with accelerator.accumulate(model):
                inputs, targets = batch
                loss = nn.functional.cross_entropy(model(inputs), targets)
                total += loss.detach().item()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()

        model.eval()
        correct, count = 0, 0
        for inputs, targets in eval_dl:
            with torch.no_grad():
                preds = model(inputs).argmax(-1)
            preds, targets = accelerator.gather_for_metrics((preds, targets))
            correct += (preds == targets).sum().item()
            count += targets.numel()
        accelerator.print(f"epoch {epoch}: loss {total / len(train_dl):.4f} acc {correct / count:.4f}")


if __name__ == "__main__":
    main()
