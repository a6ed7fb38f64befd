# char-level language model, truncated BPTT (after the old pytorch/examples word_language_model)
import argparse
import math
import time

import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description='char LSTM')
parser.add_argument('--data', type=str, required=True, help='a plain text file')
parser.add_argument('--emsize', type=int, default=64)
parser.add_argument('--nhid', type=int, default=256)
parser.add_argument('--nlayers', type=int, default=2)
parser.add_argument('--lr', type=float, default=20)
parser.add_argument('--clip', type=float, default=0.25)
parser.add_argument('--epochs', type=int, default=40)
parser.add_argument('--batch_size', type=int, default=20)
parser.add_argument('--bptt', type=int, default=64)
parser.add_argument('--dropout', type=float, default=0.2)
parser.add_argument('--seed', type=int, default=1111)
parser.add_argument('--log-interval', type=int, default=200)
parser.add_argument('--save', type=str, default='charlm.pt')
args = parser.parse_args()

torch.manual_seed(args.seed)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')

with open(args.data, encoding='utf-8') as f:
    text = f.read()
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text], dtype=torch.long)
n = len(ids)


def batchify(data, bsz):
    nb = data.size(0) // bsz
    return data[:nb * bsz].view(bsz, -1).t().contiguous().to(device)


train_data = batchify(ids[:int(n * 0.9)], args.batch_size)
val_data = batchify(ids[int(n * 0.9):], 10)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        self.nhid, self.nlayers, self.ntoken = nhid, nlayers, ntoken

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return self.decoder(self.drop(out)).view(-1, self.ntoken), hidden

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return (w.new_zeros(self.nlayers, bsz, self.nhid), w.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    """cut the hidden states from their history"""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


model = RNNModel(len(chars), args.emsize, args.nhid, args.nlayers, args.dropout).to(device)
criterion = nn.CrossEntropyLoss()
lr = args.lr


def evaluate(source):
    model.eval()
    total = 0.
    hidden = model.init_hidden(source.size(1))
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, args.bptt):
            data, targets = get_batch(source, i)
            out, hidden = model(data, hidden)
            total += len(data) * criterion(out, targets).item()
    return total / (len(source) - 1)


def train(epoch):
    model.train()
    total, start = 0., time.time()
    hidden = model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        hidden = repackage_hidden(hidden)
        model.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()

        # helps prevent the exploding gradient problem in RNNs
        for p in model.parameters():
            torch.nn.utils.clip_grad_norm_(p, args.clip)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)

        total += loss.item()
        if batch % args.log_interval == 0 and batch > 0:
            cur = total / args.log_interval
            ms = (time.time() - start) * 1000 / args.log_interval
            print(f'| epoch {epoch:3d} | batch {batch:5d} | lr {lr:05.2f} | ms/batch {ms:5.2f} '
                  f'| loss {cur:5.2f} | bpc {cur / math.log(2):8.3f}')
            total, start = 0., time.time()


best_val = None
try:
    for epoch in range(1, args.epochs + 1):
        train(epoch)
        val_loss = evaluate(val_data)
        print(f'| end of epoch {epoch:3d} | valid loss {val_loss:5.2f} | bpc {val_loss / math.log(2):8.3f}')
        if best_val is None or val_loss < best_val:
            torch.save({'model': model.state_dict(), 'chars': chars}, args.save)
            best_val = val_loss
        else:
            lr /= 4.0  # anneal when there is no improvement
except KeyboardInterrupt:
    print('Exiting from training early')
