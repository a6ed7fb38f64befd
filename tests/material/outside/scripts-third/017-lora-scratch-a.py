import math
import torch
import torch.nn as nn
from torch.optim import AdamW


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.A = nn.Parameter(torch.empty(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.A.t() @ self.B.t()) * self.scale


class Backbone(nn.Module):
    def __init__(self, d=64, n=3):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(n)])

    def forward(self, x):
        for l in self.layers:
            x = x + torch.tanh(l(x))
        return x


class Classifier(nn.Module):
    def __init__(self, backbone, d=64, classes=3):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(d, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def add_lora(module, r=4):
    for name, child in list(module.named_children()):
        if isinstance(child, nn.Linear):
            setattr(module, name, LoRALinear(child, r))
        else:
            add_lora(child, r)


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


torch.manual_seed(0)
backbone = Backbone()          # stands for a pretrained network
freeze(backbone)
add_lora(backbone)
model = Classifier(backbone)

trainable = [p for p in model.parameters() if p.requires_grad]
print(f"trainable {sum(p.numel() for p in trainable)} / {sum(p.numel() for p in model.parameters())}")
optimizer = AdamW(trainable, lr=2e-3, weight_decay=0.01)

X = torch.randn(600, 64)
Y = (X[:, :3] + 0.3 * X[:, 3:6] ** 2).argmax(1)
for epoch in range(5):
    perm = torch.randperm(600)
    total = 0.0
    for i in range(0, 600, 50):
        idx = perm[i:i + 50]
        loss = nn.functional.cross_entropy(model(X[idx]), Y[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 12:.4f}")
torch.save({k: v for k, v in model.state_dict().items() if ".A" in k or ".B" in k or "head" in k}, "lora.pt")
