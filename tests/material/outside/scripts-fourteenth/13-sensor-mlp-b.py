import argparse, csv, math
import torch
import torch.nn as nn


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument('--csv', required=True)
    p.add_argument('--epochs', type=int, default=20)
    p.add_argument('--lr', type=float, default=1e-2)
    p.add_argument('--bs', type=int, default=64)
    return p.parse_args()


def read(path):
    xs, ys = [], []
    with open(path) as f:
        for row in csv.DictReader(f):
            v = [float(row[k]) for k in 'abcd']
            if any(math.isnan(q) for q in v):
                continue
            xs.append(v)
            ys.append([float(row['target'])])
    return torch.tensor(xs), torch.tensor(ys)


def train_one_epoch(model, opt, loss_fn, x, y, bs):
    model.train()
    perm = torch.randperm(x.shape[0])
    total = 0.
    for i in range(0, len(perm), bs):
        b = perm[i:i + bs]
        opt.zero_grad()
        pred = model(x[b])
        loss = loss_fn(pred, y[b])
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
    return total / len(perm)


def validate(model, loss_fn, x, y):
    model.eval()
    with torch.no_grad():
        return loss_fn(model(x), y).item()


if __name__ == '__main__':
    args = get_args()
    torch.manual_seed(0)
    x, y = read(args.csv)
    n = int(len(x) * .8)
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [int(args.epochs * .5), int(args.epochs * .8)], gamma=.2)
    loss_fn = nn.SmoothL1Loss()
    for e in range(args.epochs):
        tl = train_one_epoch(model, opt, loss_fn, x[:n], y[:n], args.bs)
        vl = validate(model, loss_fn, x[n:], y[n:])
        sched.step()
        if e % 5 == 0 or e == args.epochs - 1:
            print('epoch %d train %.4f val %.4f' % (e, tl, vl))
