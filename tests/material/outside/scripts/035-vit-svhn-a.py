import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

EPOCHS, BATCH, LR, CLIP = 1, 64, 5e-4, 1.0
PATCH, DIM, DEPTH, HEADS = 8, 32, 2, 2
LOG_EVERY = 4


class ViT(nn.Module):
    def __init__(self, image=32, num_classes=10):
        super().__init__()
        n = (image // PATCH) ** 2
        self.patch = nn.Conv2d(3, DIM, PATCH, PATCH)
        self.cls = nn.Parameter(torch.zeros(1, 1, DIM))
        self.pos = nn.Parameter(torch.randn(1, n + 1, DIM) * 0.02)
        layer = nn.TransformerEncoderLayer(DIM, HEADS, 4 * DIM, 0.0, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, DEPTH, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(DIM), nn.Linear(DIM, num_classes))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.blocks(x)[:, 0])


def log_grad_norms(writer, model, optimizer, scaler, step):
    """Per-module gradient norms, in true (unscaled) units."""
    # called after the clipping, the gradients are unscaled already
    for name, module in model.named_children():
        sq = sum(p.grad.pow(2).sum() for p in module.parameters() if p.grad is not None)
        writer.add_scalar(f"grad/{name}", float(sq) ** 0.5, step)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    use_amp = device.type == "cuda"
    tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)])
    train = datasets.SVHN("data", split="train", download=True, transform=tf)
    loader = DataLoader(train, batch_size=BATCH, shuffle=True, drop_last=True)

    model = ViT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=LR * 4, total_steps=EPOCHS * len(loader))
    scaler = torch.cuda.amp.GradScaler(enabled=use_amp)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    writer = SummaryWriter("runs/vit_svhn")

    step = 0
    for epoch in range(EPOCHS):
        model.train()
        for images, target in loader:
            images, target = images.to(device), target.to(device)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device_type=device.type, dtype=torch.float16, enabled=use_amp):
                loss = criterion(model(images), target)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            total_norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            if step % LOG_EVERY == 0:
                writer.add_scalar("loss", loss.item(), step)
                writer.add_scalar("grad/total", float(total_norm), step)
                log_grad_norms(writer, model, optimizer, scaler, step)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            step += 1
        print(f"epoch {epoch} last loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")
    writer.close()
    torch.save(model.state_dict(), "vit_svhn.pt")


if __name__ == "__main__":
    main()
