import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


def build():
    torch.manual_seed(11)
    x = torch.randn(512, 10)
    y = (x @ torch.randn(10, 1)).squeeze(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    return model, loader


def train(num_epochs=5):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    model, loader = build()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=num_epochs * len(loader) // 4)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for epoch in range(num_epochs):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
                accelerator.backward(loss / 4)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        accelerator.print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    train()
