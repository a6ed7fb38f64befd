# center loss: softmax loss + lambda * distance to learned class centers, two optimizers
import torch
import torch.nn as nn

torch.manual_seed(6)
N_CLASS, DIM, FEAT = 5, 20, 8
protos = torch.randn(N_CLASS, DIM) * 1.2


def draw(n):
    y = torch.randint(0, N_CLASS, (n,))
    return protos[y] + torch.randn(n, DIM), y


class CenterLoss(nn.Module):
    def __init__(self, num_classes, feat_dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))

    def forward(self, feats, labels):
        diff = feats - self.centers[labels]
        return diff.pow(2).sum(1).clamp(1e-12, 1e12).mean()


class EmbedNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(DIM, 64), nn.PReLU(), nn.Linear(64, FEAT))
        self.fc = nn.Linear(FEAT, N_CLASS)

    def forward(self, x):
        f = self.embed(x)
        return f, self.fc(f)


model = EmbedNet()
criterion_xent = nn.CrossEntropyLoss()
criterion_cent = CenterLoss(N_CLASS, FEAT)
optimizer_model = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
optimizer_centers = torch.optim.SGD(criterion_cent.parameters(), lr=0.05)
weight_cent = 0.1
xte, yte = draw(400)
xtr, ytr = draw(1000)

for epoch in range(10):
    model.train()
    xl = cl = 0.0
    for idx in torch.randperm(len(xtr)).split(50):
        feats, outputs = model(xtr[idx])
        loss_xent = criterion_xent(outputs, ytr[idx])
        loss_cent = criterion_cent(feats, ytr[idx]) * weight_cent
        loss = loss_xent + loss_cent
        optimizer_model.zero_grad()
        loss.backward()
        optimizer_model.step()
        # undo the loss weight for the centers
        for param in criterion_cent.parameters():
            param.grad.data *= 1.0 / weight_cent
        optimizer_centers.step()
        xl += loss_xent.item()
        cl += loss_cent.item()
    model.eval()
    with torch.no_grad():
        f, o = model(xte)
        acc = (o.argmax(1) == yte).float().mean()
        nearest = (torch.cdist(f, criterion_cent.centers).argmin(1) == yte).float().mean()
    print(f"Epoch {epoch}: xent {xl / 20:.3f} cent {cl / 20:.3f} acc {acc:.3f} nearest-center {nearest:.3f}")
