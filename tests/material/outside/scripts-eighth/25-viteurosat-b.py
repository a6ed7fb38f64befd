# %%
# Fine-tuning ViT-S/16 from our self-supervised checkpoint on EuroSAT (10 classes).
# Notebook "eurosat_vit.ipynb" exported with nbconvert.
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, random_split
from torchvision import datasets, transforms

DATA = Path.home() / "data"
CKPT = Path("checkpoints/ssl_vit_s16_ep400.pth")
EPOCHS, BATCH, LR, HEAD_LR, WD = 20, 128, 5e-5, 1e-3, 0.05
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)

# %%
tf = transforms.Compose([
    transforms.Resize(224),
    transforms.ToTensor(),
    transforms.Normalize((0.344, 0.380, 0.408), (0.203, 0.137, 0.116)),
])
full = datasets.EuroSAT(DATA, transform=tf, download=True)
n_val = 4000
train_ds, val_ds = random_split(full, [len(full) - n_val, n_val], generator=torch.Generator().manual_seed(0))
train_dl = DataLoader(train_ds, BATCH, shuffle=True, num_workers=4, pin_memory=True, drop_last=True)
val_dl = DataLoader(val_ds, 2 * BATCH, num_workers=4, pin_memory=True)
len(train_ds), len(val_ds)


# %%
class ViT(nn.Module):
    def __init__(self, num_classes, img=224, patch=16, dim=384, depth=12, heads=6, drop=0.0):
        super().__init__()
        n = (img // patch) ** 2
        self.patch_embed = nn.Conv2d(3, dim, patch, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.randn(1, n + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, drop, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


# %%
# the SSL checkpoint has a 1000-way prototype head
model = ViT(num_classes=1000)
state = torch.load(CKPT, map_location="cpu")["model"]
print(model.load_state_dict(state))
# %%
def param_groups(m):
    groups = {}
    for name, p in m.named_parameters():
        lr = HEAD_LR if name.startswith("head.") else LR
        wd = 0.0 if p.ndim <= 1 or name in ("cls_token", "pos_embed") else WD
        groups.setdefault((lr, wd), []).append(p)
    return [{"params": ps, "lr": lr, "weight_decay": wd} for (lr, wd), ps in groups.items()]


optimizer = torch.optim.AdamW(param_groups(model))
model.head = nn.Linear(model.head.in_features, len(full.classes))
nn.init.trunc_normal_(model.head.weight, std=0.02)
nn.init.zeros_(model.head.bias)
model = model.to(device)
steps = EPOCHS * len(train_dl)
warm = steps // 10
scheduler = torch.optim.lr_scheduler.SequentialLR(
    optimizer,
    [torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=warm),
     torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps - warm)],
    [warm],
)

# %%
hist = {"loss": [], "acc": []}
for epoch in range(EPOCHS):
    model.train()
    tot = 0.0
    for x, y in train_dl:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 3.0)
        optimizer.step()
        scheduler.step()
        tot += loss.item()

    model.eval()
    ok = 0
    with torch.no_grad():
        for x, y in val_dl:
            ok += (model(x.to(device)).argmax(1).cpu() == y).sum().item()
    hist["loss"].append(tot / len(train_dl))
    hist["acc"].append(ok / len(val_ds))
    print(f"{epoch:2d}  loss {hist['loss'][-1]:.4f}  val acc {hist['acc'][-1]:.4f}")

# %%
fig, ax = plt.subplots(1, 2, figsize=(9, 3))
for a, k in zip(ax, hist):
    a.plot(hist[k])
    a.set_title(k)
plt.savefig("eurosat_vit.png")
torch.save(model.state_dict(), "checkpoints/vit_eurosat.pth")
