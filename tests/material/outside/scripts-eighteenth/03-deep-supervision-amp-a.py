import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    """Two stages, an auxiliary classifier after the first one."""

    def __init__(self, n_classes=4):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.stage2 = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(16 * 9, n_classes)
        self.aux = nn.Linear(8 * 36, n_classes)

    def forward(self, x):
        a = self.stage1(x)
        b = self.stage2(a)
        return self.fc(b.flatten(1)), self.aux(a.flatten(1))


class Trainer:
    def __init__(self, model, loader, lr=0.05, aux_weight=0.4, max_norm=2.0, device=None):
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.loader = loader
        self.aux_weight = aux_weight
        self.max_norm = max_norm
        self.opt = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)
        self.dtype = torch.float16 if self.device == "cuda" else torch.bfloat16
        self.scaler = torch.amp.GradScaler(self.device)

    def train_step(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast(self.device, dtype=self.dtype):
            logits, aux_logits = self.model(x)
            main_loss = F.cross_entropy(logits, y)
            aux_loss = self.aux_weight * F.cross_entropy(aux_logits, y)
        self.scaler.scale(main_loss).backward(retain_graph=True)
        aux_loss.backward()
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.scaler.step(self.opt)
        self.scaler.update()
        return main_loss.item(), aux_loss.item()

    def fit(self, epochs):
        for ep in range(epochs):
            tot_main = tot_aux = 0.0
            for x, y in self.loader:
                m, a = self.train_step(x.to(self.device), y.to(self.device))
                tot_main += m
                tot_aux += a
            n = len(self.loader)
            print(f"[{ep}] main {tot_main / n:.4f}  aux {tot_aux / n:.4f}  scale {self.scaler.get_scale():.0f}")


def make_data(n=320, seed=3):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = 0.6 * torch.randn(n, 1, 12, 12, generator=g)
    for i, c in enumerate(y.tolist()):
        r, s = divmod(c, 2)
        x[i, 0, 6 * r:6 * r + 6, 6 * s:6 * s + 6] += 0.5
    return TensorDataset(x, y)


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    Trainer(ConvNet(), loader).fit(5)
