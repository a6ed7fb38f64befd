import torch
import torch.nn as nn
import torch.nn.functional as F
import torchaudio
from torchaudio.datasets import SPEECHCOMMANDS
from torch.utils.data import DataLoader

LABELS = ['yes', 'no', 'up', 'down', 'left', 'right', 'on', 'off', 'stop', 'go']


class Subset(SPEECHCOMMANDS):
    def __init__(self, split):
        super().__init__('./', download=True, subset=split)
        self._walker = [w for w in self._walker if w.split('/')[-2] in LABELS]


def collate(batch):
    wavs, ys = [], []
    for w, _, label, *_ in batch:
        wavs.append(F.pad(w, (0, 16000 - w.shape[-1])))
        ys.append(LABELS.index(label))
    return torch.stack(wavs), torch.tensor(ys)


class M5(nn.Module):
    def __init__(self, n_in=1, n_out=10, stride=16, ch=32):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv1d(n_in, ch, 80, stride), nn.BatchNorm1d(ch)
        self.conv2, self.bn2 = nn.Conv1d(ch, ch, 3), nn.BatchNorm1d(ch)
        self.conv3, self.bn3 = nn.Conv1d(ch, 2 * ch, 3), nn.BatchNorm1d(2 * ch)
        self.pool = nn.MaxPool1d(4)
        self.fc = nn.Linear(2 * ch, n_out)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        x = self.pool(F.relu(self.bn3(self.conv3(x))))
        return self.fc(x.mean(-1))


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
train_loader = DataLoader(Subset('training'), batch_size=256, shuffle=True, collate_fn=collate, num_workers=2)
test_loader = DataLoader(Subset('testing'), batch_size=256, collate_fn=collate)
resample = torchaudio.transforms.Resample(16000, 8000).to(device)

model = M5().to(device)
params = model.parameters()
optimizer = torch.optim.Adam(params, lr=0.01, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.1)

for epoch in range(1, 41):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = resample(data.to(device)), target.to(device)
        loss = F.cross_entropy(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 5.0)
        optimizer.step()
        if batch_idx % 20 == 0:
            print(f'Epoch {epoch} [{batch_idx}/{len(train_loader)}] loss {loss.item():.4f}')
    model.eval()
    with torch.no_grad():
        c = sum((model(resample(d.to(device))).argmax(-1).cpu() == t).sum().item() for d, t in test_loader)
    print(f'test acc {c / len(test_loader.dataset):.3f}')
    scheduler.step()
