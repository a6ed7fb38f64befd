import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
VOC, D, LEN = 30, 48, 6


class ImgEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
                                 nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, D))

    def forward(self, x):
        return self.net(x)


class TextDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOC, D)
        self.gru = nn.GRU(D, D, batch_first=True)
        self.out = nn.Linear(D, VOC)

    def forward(self, feat, caps):
        x = torch.cat([feat[:, None], self.emb(caps[:, :-1])], 1)
        return self.out(self.gru(x)[0])


images = torch.randn(256, 3, 16, 16)
base = (images.mean((1, 2, 3)) * 40).long().clamp(-10, 10) + 15
captions = (base[:, None] + torch.arange(LEN)) % VOC

encoder, decoder = ImgEncoder(), TextDecoder()

UNFREEZE_AT = 3
for p in encoder.parameters():
    p.requires_grad = False
optimizer = torch.optim.Adam(decoder.parameters(), lr=3e-3)

for epoch in range(6):
    if epoch == UNFREEZE_AT:
        print('unfreezing the encoder')
        for p in encoder.parameters():
            p.requires_grad = True
        optimizer.add_param_group({'params': encoder.parameters(), 'lr': 3e-4})
    perm, tot = torch.randperm(256), 0.
    for idx in perm.split(32):
        logits = decoder(encoder(images[idx]), captions[idx])
        loss = F.cross_entropy(logits.flatten(0, 1), captions[idx].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tot += loss.item()
    print(f'epoch {epoch}: {tot / 8:.3f}')
