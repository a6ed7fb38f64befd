# Leaf disease (kaggle), plain CNN + SWA, 5 folds.
# train.csv: image_id,label   train_images/<image_id>
import gc
import os
import random

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.optim.swa_utils import SWALR, AveragedModel
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm


class CFG:
    root = os.environ.get("LEAF_ROOT", "../input/leaf")
    size = int(os.environ.get("LEAF_SIZE", 224))
    width = int(os.environ.get("LEAF_WIDTH", 32))
    epochs = int(os.environ.get("LEAF_EPOCHS", 20))
    swa_start = 0.7
    folds = 5
    run_folds = [0, 1, 2, 3, 4]
    batch = 32
    lr = 1e-3
    swa_lr = 5e-4
    workers = int(os.environ.get("LEAF_WORKERS", 2))
    seed = 2021


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Leaves(Dataset):
    def __init__(self, df, train):
        self.ids = df.image_id.tolist()
        self.labels = df.label.tolist()
        self.train = train

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        im = Image.open(os.path.join(CFG.root, "train_images", self.ids[i])).convert("RGB")
        im = im.resize((CFG.size, CFG.size))
        x = torch.from_numpy(np.array(im)).permute(2, 0, 1).float() / 255
        if self.train:
            if random.random() < 0.5:
                x = x.flip(2)
            if random.random() < 0.5:
                x = x.flip(1)
        return x, self.labels[i]


def make_model(classes):
    w = CFG.width
    layers, i = [], 3
    for o in (w, 2 * w, 4 * w, 8 * w):
        layers += [nn.Conv2d(i, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                   nn.Conv2d(o, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True)]
        i = o
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(i, classes))


def stratified_folds(labels, k, seed):
    rng = np.random.default_rng(seed)
    fold = np.zeros(len(labels), dtype=int)
    for c in np.unique(labels):
        idx = rng.permutation(np.where(labels == c)[0])
        fold[idx] = np.arange(len(idx)) % k
    return fold


def train_fn(model, loader, opt, epoch):
    model.train()
    losses = []
    for x, y in tqdm(loader, desc=f"train {epoch}", leave=False):
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return float(np.mean(losses))


@torch.no_grad()
def valid_fn(model, loader):
    model.eval()
    probs = [model(x.to(device)).softmax(1).cpu() for x, _ in loader]
    return torch.cat(probs).numpy()


def run_fold(df, fold, classes):
    tr, va = df[df.fold != fold], df[df.fold == fold]
    train_loader = DataLoader(Leaves(tr, True), CFG.batch, shuffle=True, drop_last=True, num_workers=CFG.workers)
    valid_loader = DataLoader(Leaves(va, False), CFG.batch, num_workers=CFG.workers)
    model = make_model(classes).to(device)
    swa_model = AveragedModel(model)
    opt = torch.optim.AdamW(model.parameters(), lr=CFG.lr, weight_decay=1e-3)
    start = int(CFG.swa_start * CFG.epochs)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=CFG.epochs, eta_min=1e-5)
    swa_sched = SWALR(opt, swa_lr=CFG.swa_lr, anneal_epochs=2)

    for epoch in range(CFG.epochs):
        loss = train_fn(model, train_loader, opt, epoch)
        acc = (valid_fn(model, valid_loader).argmax(1) == va.label.to_numpy()).mean()
        print(f"fold {fold} epoch {epoch} loss {loss:.4f} acc {acc:.4f}")
        if epoch >= start:
            swa_model.update_parameters(model)
            swa_sched.step()
        else:
            cosine.step()

    probs = valid_fn(swa_model, valid_loader)
    acc = (probs.argmax(1) == va.label.to_numpy()).mean()
    print(f"fold {fold} SWA acc {acc:.4f}")
    torch.save(swa_model.module.state_dict(), f"leaf_fold{fold}.pth")
    del model, swa_model
    gc.collect()
    return probs


seed_everything(CFG.seed)
train_df = pd.read_csv(os.path.join(CFG.root, "train.csv"))
n_classes = int(train_df.label.max()) + 1
train_df["fold"] = stratified_folds(train_df.label.to_numpy(), CFG.folds, CFG.seed)
oof = np.zeros((len(train_df), n_classes), dtype=np.float32)
for f in CFG.run_folds:
    oof[(train_df.fold == f).to_numpy()] = run_fold(train_df, f, n_classes)
print("CV", (oof.argmax(1) == train_df.label.to_numpy()).mean())
np.save("oof.npy", oof)
