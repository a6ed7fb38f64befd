import logging
import torch
import torch.nn as nn
import torchaudio
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

logging.basicConfig(level=logging.INFO)
logger = logging.getLogger(__name__)
VOCAB = "_'abcdefghijklmnopqrstuvwxyz "
c2i = {c: i for i, c in enumerate(VOCAB)}
mel = torchaudio.transforms.MelSpectrogram(16000, n_mels=80)


def collate(items):
    feats, targets, fl, tl = [], [], [], []
    for wav, sr, text, *_ in items:
        f = mel(wav).squeeze(0).clamp(min=1e-5).log().t()
        t = torch.tensor([c2i[c] for c in text.lower() if c in c2i])
        feats.append(f); targets.append(t)
        fl.append(len(f) // 2); tl.append(len(t))
    return pad_sequence(feats, True), pad_sequence(targets, True), torch.tensor(fl), torch.tensor(tl)


class DS2(nn.Module):
    def __init__(self, h=512, n=len(VOCAB)):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(80, h, 11, stride=2, padding=5), nn.BatchNorm1d(h), nn.Hardtanh(0, 20))
        self.rnn = nn.GRU(h, h, 3, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * h, n)

    def forward(self, x):
        x = self.conv(x.transpose(1, 2)).transpose(1, 2)
        return self.out(self.rnn(x)[0]).log_softmax(-1)


def train(epochs=20, max_norm=400.0):
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    ds = torchaudio.datasets.LIBRISPEECH('.', url='train-clean-100', download=True)
    loader = DataLoader(ds, 16, shuffle=True, collate_fn=collate, num_workers=4)
    model = DS2().to(device)
    ctc = nn.CTCLoss(blank=0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.98)
    for epoch in range(epochs):
        skipped = 0
        for i, (x, y, xl, yl) in enumerate(loader):
            logp = model(x.to(device)).transpose(0, 1)
            loss = ctc(logp, y.to(device), xl.clamp(max=logp.size(0)), yl)
            loss.backward()
            gnorm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            # ctc blows up when the target does not fit in the input
            if not torch.isfinite(gnorm):
                skipped += 1
                continue
            optimizer.step()
            optimizer.zero_grad()
            if i % 50 == 0:
                logger.info('epoch %d it %d loss %.3f gnorm %.1f', epoch, i, loss.item(), gnorm.item())
        scheduler.step()
        logger.info('epoch %d done, skipped %d', epoch, skipped)
        torch.save(model.state_dict(), 'ds2.pt')


if __name__ == '__main__':
    train()
