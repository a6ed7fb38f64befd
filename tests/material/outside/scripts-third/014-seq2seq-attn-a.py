# -*- coding: utf-8 -*-
# Translation with a Seq2Seq network and attention (reads eng-fra.txt)
import random, re, time, unicodedata
import torch
import torch.nn as nn
from torch import optim
import torch.nn.functional as F

SOS_token, EOS_token, MAX_LENGTH = 0, 1, 10
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
teacher_forcing_ratio = 0.5


class Lang:
    def __init__(self):
        self.w2i, self.i2w, self.n = {}, {0: "SOS", 1: "EOS"}, 2

    def add(self, s):
        for w in s.split(' '):
            if w not in self.w2i:
                self.w2i[w] = self.n
                self.i2w[self.n] = w
                self.n += 1


def norm(s):
    s = ''.join(c for c in unicodedata.normalize('NFD', s.lower().strip()) if unicodedata.category(c) != 'Mn')
    s = re.sub(r"([.!?])", r" \1", s)
    return re.sub(r"[^a-zA-Z.!?]+", r" ", s)


def prepare():
    lines = open('data/eng-fra.txt', encoding='utf-8').read().strip().split('\n')
    pairs = [[norm(s) for s in l.split('\t')][::-1] for l in lines]
    pairs = [p for p in pairs if len(p[0].split(' ')) < MAX_LENGTH and len(p[1].split(' ')) < MAX_LENGTH]
    a, b = Lang(), Lang()
    for p in pairs:
        a.add(p[0]); b.add(p[1])
    return a, b, pairs


class EncoderRNN(nn.Module):
    def __init__(self, n, h):
        super().__init__()
        self.h = h
        self.embedding = nn.Embedding(n, h)
        self.gru = nn.GRU(h, h)

    def forward(self, inp, hidden):
        return self.gru(self.embedding(inp).view(1, 1, -1), hidden)

    def init_hidden(self):
        return torch.zeros(1, 1, self.h, device=device)


class AttnDecoderRNN(nn.Module):
    def __init__(self, h, n, p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(n, h)
        self.attn = nn.Linear(h * 2, MAX_LENGTH)
        self.comb = nn.Linear(h * 2, h)
        self.drop = nn.Dropout(p)
        self.gru = nn.GRU(h, h)
        self.out = nn.Linear(h, n)

    def forward(self, inp, hidden, enc):
        e = self.drop(self.embedding(inp).view(1, 1, -1))
        w = F.softmax(self.attn(torch.cat((e[0], hidden[0]), 1)), dim=1)
        ctx = torch.bmm(w.unsqueeze(0), enc.unsqueeze(0))
        o = F.relu(self.comb(torch.cat((e[0], ctx[0]), 1)).unsqueeze(0))
        o, hidden = self.gru(o, hidden)
        return F.log_softmax(self.out(o[0]), dim=1), hidden


def tensor(lang, s):
    return torch.tensor([lang.w2i[w] for w in s.split(' ')] + [EOS_token], device=device).view(-1, 1)


def train(x, y, encoder, decoder, enc_opt, dec_opt, criterion):
    hidden = encoder.init_hidden()
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    outs = torch.zeros(MAX_LENGTH, encoder.h, device=device)
    loss = 0
    for ei in range(x.size(0)):
        o, hidden = encoder(x[ei], hidden)
        outs[ei] = o[0, 0]
    inp = torch.tensor([[SOS_token]], device=device)
    forced = random.random() < teacher_forcing_ratio
    for di in range(y.size(0)):
        o, hidden = decoder(inp, hidden, outs)
        loss += criterion(o, y[di])
        if forced:
            inp = y[di]
        else:
            inp = o.topk(1)[1].squeeze().detach()
            if inp.item() == EOS_token:
                break
    loss.backward()
    enc_opt.step()
    dec_opt.step()
    return loss.item() / y.size(0)


def train_iters(n_iters, print_every=1000, lr=0.01):
    src, tgt, pairs = prepare()
    encoder = EncoderRNN(src.n, 256).to(device)
    decoder = AttnDecoderRNN(256, tgt.n).to(device)
    enc_opt = optim.SGD(encoder.parameters(), lr=lr)
    dec_opt = optim.SGD(encoder.parameters(), lr=lr)
    criterion = nn.NLLLoss()
    start, tot = time.time(), 0
    for it in range(1, n_iters + 1):
        p = random.choice(pairs)
        tot += train(tensor(src, p[0]), tensor(tgt, p[1]), encoder, decoder, enc_opt, dec_opt, criterion)
        if it % print_every == 0:
            print('%ds (%d %d%%) %.4f' % (time.time() - start, it, it / n_iters * 100, tot / print_every))
            tot = 0


train_iters(75000)
