# binary segmentation with a mini U-Net, AMP + grad clipping
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SEED = 7
EPOCHS = 2
LR = 3e-3
MAX_NORM = 0.5
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(SEED)


class Blobs(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        cx, cy = torch.rand(2, generator=g) * 16 + 8
        yy, xx = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
        mask = ((xx - cx) ** 2 + (yy - cy) ** 2 < 36).float()[None]
        return mask + 0.3 * torch.randn(1, 32, 32, generator=g), mask


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = block(1, 8), block(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.u1 = block(16, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(nn.functional.max_pool2d(a, 2))
        return self.out(self.u1(torch.cat([a, self.up(b)], 1)))


model = UNet().to(DEVICE)
opt = torch.optim.SGD(model.parameters(), lr=LR * 10, momentum=0.9)
crit = nn.BCEWithLogitsLoss()
scaler = torch.amp.GradScaler(DEVICE, init_scale=1024.0)
loader = DataLoader(Blobs(96), batch_size=8, shuffle=True)

for epoch in range(EPOCHS):
    for img, mask in loader:
        img, mask = img.to(DEVICE), mask.to(DEVICE)
        opt.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, dtype=torch.float16 if DEVICE == "cuda" else torch.bfloat16):
            logits = model(img)
            loss = crit(logits.float(), mask)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        scaler.step(opt)
        scaler.update()
    print(f"epoch {epoch} loss {loss.item():.4f}")
