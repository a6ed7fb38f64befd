"""Small text CNN; the run is cut into jobs of a few epochs, each resumes from the checkpoint."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

EPOCHS = 12
EPOCHS_PER_JOB = 4
BATCH = 64
PEAK_LR = 2e-2
WARMUP_FRACTION = 0.25


def make_corpus(n, length=20, vocab=50, seed=0):
    g = torch.Generator().manual_seed(seed)
    tokens = torch.randint(2, vocab, (n, length), generator=g)
    labels = torch.randint(0, 2, (n,), generator=g)
    for row, lab in enumerate(labels.tolist()):
        pos = int(torch.randint(0, length - 2, (1,), generator=g))
        tokens[row, pos:pos + 2] = torch.tensor([7, 8] if lab else [8, 7])
    return tokens, labels


class TextCNN(nn.Module):
    def __init__(self, vocab=50, dim=16, channels=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.conv = nn.Conv1d(dim, channels, 2)
        self.fc = nn.Linear(channels, 2)

    def forward(self, tokens):
        h = F.relu(self.conv(self.emb(tokens).transpose(1, 2)))
        return self.fc(h.max(dim=2).values)


class Run:
    def __init__(self, ckpt, steps_per_epoch):
        self.ckpt = ckpt
        self.model = TextCNN()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=PEAK_LR, momentum=0.9)
        total = EPOCHS * steps_per_epoch
        warm = int(WARMUP_FRACTION * total)

        def factor(step):
            if step < warm:
                return (step + 1) / warm
            return max(0.0, (total - step) / (total - warm))

        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, factor)
        self.epoch = 0
        if os.path.exists(ckpt):
            self.load()

    def save(self):
        torch.save({
            "epoch": self.epoch,
            "model": self.model.state_dict(),
            "opt": self.opt.state_dict(),
            "rng": torch.get_rng_state(),
        }, self.ckpt)

    def load(self):
        state = torch.load(self.ckpt)
        self.model.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        self.epoch = state["epoch"]
        torch.set_rng_state(state["rng"])

    def train(self, data, n_epochs):
        tokens, labels = data
        self.model.train()
        for _ in range(min(n_epochs, EPOCHS - self.epoch)):
            for idx in torch.randperm(len(tokens)).split(BATCH):
                loss = F.cross_entropy(self.model(tokens[idx]), labels[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.sched.step()
            self.epoch += 1
            print(f"epoch {self.epoch} loss {loss.item():.4f} lr {self.opt.param_groups[0]['lr']:.5f}")
            self.save()


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    return (model(data[0]).argmax(1) == data[1]).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    train, test = make_corpus(1024, seed=1), make_corpus(512, seed=2)
    path = os.path.join(tempfile.mkdtemp(), "textcnn.pt")
    for job in range(EPOCHS // EPOCHS_PER_JOB):
        print(f"-- job {job}")
        run = Run(path, steps_per_epoch=len(train[0]) // BATCH)
        run.train(train, EPOCHS_PER_JOB)
    print(f"test accuracy {accuracy(run.model, test):.3f}")
