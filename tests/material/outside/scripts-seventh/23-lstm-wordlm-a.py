# Word-level language model, LSTM, truncated back-propagation through time.
#
# data dir holds train.txt / valid.txt / test.txt (wikitext-2 or PTB style, one sentence a line)
#   python lstm_wordlm.py --data ./wikitext-2
#
# Plain SGD. If the validation loss has not improved after an epoch, the learning rate is divided by 4.
import argparse
import math
import os
import time

import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description="LSTM word language model")
parser.add_argument("--data", type=str, default="./wikitext-2")
parser.add_argument("--emsize", type=int, default=200)
parser.add_argument("--nhid", type=int, default=200)
parser.add_argument("--nlayers", type=int, default=2)
parser.add_argument("--lr", type=float, default=20)
parser.add_argument("--clip", type=float, default=0.25)
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--batch_size", type=int, default=20)
parser.add_argument("--bptt", type=int, default=35)
parser.add_argument("--dropout", type=float, default=0.2)
parser.add_argument("--tied", action="store_true")
parser.add_argument("--seed", type=int, default=1111)
parser.add_argument("--log_interval", type=int, default=200)
parser.add_argument("--save", type=str, default="lm.pt")
args = parser.parse_args()

torch.manual_seed(args.seed)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Corpus:
    def __init__(self, path):
        self.word2idx = {}
        self.train = self.tokenize(os.path.join(path, "train.txt"))
        self.valid = self.tokenize(os.path.join(path, "valid.txt"))
        self.test = self.tokenize(os.path.join(path, "test.txt"))

    def tokenize(self, path):
        ids = []
        with open(path, encoding="utf8") as f:
            for line in f:
                for w in line.split() + ["<eos>"]:
                    ids.append(self.word2idx.setdefault(w, len(self.word2idx)))
        return torch.tensor(ids, dtype=torch.long)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout, tie):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        if tie:
            if nhid != ninp:
                raise ValueError("with --tied, nhid must equal emsize")
            self.decoder.weight = self.encoder.weight
        self.nhid, self.nlayers = nhid, nlayers

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        logits = self.decoder(self.drop(out))
        return logits.view(-1, logits.size(-1)), hidden

    def init_hidden(self, bsz):
        w = next(self.parameters())
        return (w.new_zeros(self.nlayers, bsz, self.nhid), w.new_zeros(self.nlayers, bsz, self.nhid))


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data[:nbatch * bsz].view(bsz, -1).t().contiguous().to(device)


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


def repackage_hidden(h):
    """cuts the history: the next chunk starts from the values only"""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


corpus = Corpus(args.data)
train_data = batchify(corpus.train, args.batch_size)
val_data = batchify(corpus.valid, 10)
test_data = batchify(corpus.test, 10)

model = RNNModel(len(corpus.word2idx), args.emsize, args.nhid, args.nlayers, args.dropout, args.tied).to(device)
criterion = nn.CrossEntropyLoss()
lr = args.lr
optimizer = torch.optim.SGD(model.parameters(), lr=lr)


def evaluate(source):
    model.eval()
    total, hidden = 0.0, model.init_hidden(10)
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, args.bptt):
            data, targets = get_batch(source, i)
            output, hidden = model(data, hidden)
            total += len(data) * criterion(output, targets).item()
    return total / (len(source) - 1)


def train(epoch):
    model.train()
    total, start = 0.0, time.time()
    hidden = model.init_hidden(args.batch_size)
    n_chunks = math.ceil((train_data.size(0) - 1) / args.bptt)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        hidden = repackage_hidden(hidden)
        optimizer.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        # the recurrent net needs this, gradients explode otherwise
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        total += loss.item()
        if (batch + 1) % args.log_interval == 0:
            cur = total / args.log_interval
            print("| epoch {:3d} | {:5d}/{:5d} chunks | lr {:07.4f} | {:5.0f} s | loss {:5.2f} | ppl {:8.2f}".format(
                epoch, batch + 1, n_chunks, lr, time.time() - start, cur, math.exp(min(cur, 20))))
            total = 0.0


best_val_loss = None
for epoch in range(1, args.epochs + 1):
    train(epoch)
    val_loss = evaluate(val_data)
    print("| end of epoch {:3d} | valid loss {:5.2f} | valid ppl {:8.2f}".format(
        epoch, val_loss, math.exp(min(val_loss, 20))))
    if best_val_loss is None or val_loss < best_val_loss:
        torch.save(model.state_dict(), args.save)
        best_val_loss = val_loss
    else:
        lr /= 4.0

model.load_state_dict(torch.load(args.save, map_location=device))
test_loss = evaluate(test_data)
print("| test loss {:5.2f} | test ppl {:8.2f}".format(test_loss, math.exp(min(test_loss, 20))))
