"""CTC on synthetic "spoken digits": every digit is a chirp with its own pitch."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

N_MELS = 20
SYMBOLS = "-0123456789"


def utterance(g):
    n = int(torch.randint(2, 5, (1,), generator=g))
    digits = torch.randint(10, (n,), generator=g)
    frames = []
    for d in digits.tolist():
        dur = int(torch.randint(6, 10, (1,), generator=g))
        center = 1 + d * (N_MELS - 3) / 9
        bins = torch.arange(N_MELS).float()
        frames.append(torch.exp(-0.5 * (bins - center) ** 2).repeat(dur, 1))
        frames.append(torch.zeros(3, N_MELS))
    spec = torch.cat(frames)
    return spec + 0.1 * torch.randn(spec.shape, generator=g), digits + 1


def make_batch(size, g):
    items = [utterance(g) for _ in range(size)]
    feats = nn.utils.rnn.pad_sequence([i[0] for i in items], batch_first=True)
    return feats, torch.tensor([len(i[0]) for i in items]), torch.cat([i[1] for i in items]), \
        torch.tensor([len(i[1]) for i in items])


class AcousticModel(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.conv = nn.Conv1d(N_MELS, hidden, 5, padding=2)
        self.norm = nn.LayerNorm(hidden)
        self.rnn = nn.GRU(hidden, hidden, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, len(SYMBOLS))

    def forward(self, x):
        x = self.norm(F.gelu(self.conv(x.transpose(1, 2))).transpose(1, 2))
        x, _ = self.rnn(x)
        return self.fc(x)


def collapse(path):
    out, prev = [], 0
    for s in path:
        if s != prev and s != 0:
            out.append(SYMBOLS[s])
        prev = s
    return "".join(out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--micro-batch", type=int, default=4)
    ap.add_argument("--accum", type=int, default=4)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(args.seed)
    g = torch.Generator().manual_seed(args.seed)
    model = AcousticModel().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)

    for step in range(1, args.steps + 1):
        step_loss = 0.0
        optimizer.zero_grad()
        for _ in range(args.accum):
            feats, flen, tgt, tlen = make_batch(args.micro_batch, g)
            with torch.autocast(device.type, dtype=torch.bfloat16):
                logits = model(feats.to(device))
            logp = logits.float().log_softmax(-1).transpose(0, 1)
            loss = ctc(logp, tgt.to(device), flen, tlen) / args.accum
            loss.backward()
            step_loss += loss.item()
        norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        if not math.isfinite(step_loss):
            raise RuntimeError(f"loss became {step_loss}")
        if step % 4 == 0:
            print(f"step {step}/{args.steps} ctc {step_loss:.3f} grad {norm:.2f}")

    model.eval()
    feats, flen, tgt, tlen = make_batch(2, g)
    with torch.no_grad():
        best = model(feats.to(device)).argmax(-1).cpu()
    for path, n, ref in zip(best, flen, tgt.split(tlen.tolist())):
        print("hyp", collapse(path[:n].tolist()), "ref", "".join(SYMBOLS[i] for i in ref))


if __name__ == "__main__":
    main()
