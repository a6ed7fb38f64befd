"""Token tagging on made-up sentences with the transformers Trainer and class weights."""
import os
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments, set_seed

TAGS = ["O", "PER", "LOC", "ORG"]
VOCAB, LENGTH = 600, 24
RANGES = {1: (10, 60), 2: (60, 110), 3: (110, 160)}


class Sentences(Dataset):
    """Entity words are ambiguous: the word before them (a cue) decides on the tag."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.ids = rng.integers(160, VOCAB, (n, LENGTH))
        self.tags = np.zeros((n, LENGTH), dtype="int64")
        for i in range(n):
            for pos in rng.choice(np.arange(1, LENGTH, 2), size=2, replace=False):
                tag = int(rng.integers(1, 4))
                self.ids[i, pos - 1] = 1 + tag
                self.ids[i, pos] = rng.integers(*RANGES[int(rng.integers(1, 4))])
                self.tags[i, pos] = tag

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": torch.from_numpy(self.ids[i]), "labels": torch.from_numpy(self.tags[i])}


class Tagger(nn.Module):
    def __init__(self, dim=128, layers=2, heads=4):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(torch.randn(1, LENGTH, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, 0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(dim, len(TAGS))

    def forward(self, input_ids, labels=None):
        logits = self.out(self.encoder(self.emb(input_ids) + self.pos[:, :input_ids.size(1)]))
        if labels is None:
            return {"logits": logits}
        return {"loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


class WeightedTrainer(Trainer):
    def __init__(self, *args, class_weights, **kwargs):
        super().__init__(*args, **kwargs)
        self.class_weights = class_weights

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        outputs = model(input_ids=inputs["input_ids"], labels=labels)
        logits = outputs["logits"]
        loss = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(),
                               weight=self.class_weights.to(logits.device), reduction="none").mean()
        if model.training:
            loss = loss / self.args.gradient_accumulation_steps
        return (loss, outputs) if return_outputs else loss


def compute_metrics(pred):
    guess = pred.predictions.argmax(-1)
    entity = pred.label_ids > 0
    tp = ((guess == pred.label_ids) & entity).sum()
    precision, recall = tp / max(1, (guess > 0).sum()), tp / max(1, entity.sum())
    return {"precision": float(precision), "recall": float(recall),
            "f1": float(2 * precision * recall / max(1e-9, precision + recall))}


def main(n=4000, epochs=8, out="tagger_out"):
    set_seed(3)
    train, valid = Sentences(n, 1), Sentences(400, 2)
    freq = np.bincount(train.tags.ravel(), minlength=len(TAGS)) / train.tags.size
    weights = torch.tensor(1.0 / np.sqrt(freq), dtype=torch.float32)
    weights = weights / (weights * torch.tensor(freq, dtype=torch.float32)).sum()
    args = TrainingArguments(
        output_dir=out, num_train_epochs=epochs, per_device_train_batch_size=16, per_device_eval_batch_size=64,
        gradient_accumulation_steps=4, optim="sgd", learning_rate=0.3, lr_scheduler_type="cosine",
        warmup_steps=20, max_grad_norm=5.0, weight_decay=0.0, eval_strategy="epoch", save_strategy="no",
        logging_steps=20, report_to=[], dataloader_drop_last=True, seed=3)
    trainer = WeightedTrainer(model=Tagger(), args=args, train_dataset=train, eval_dataset=valid,
                              compute_metrics=compute_metrics, class_weights=weights)
    trainer.train()
    print(trainer.evaluate())
    os.makedirs(out, exist_ok=True)
    torch.save(trainer.model.state_dict(), os.path.join(out, "tagger.pt"))


if __name__ == "__main__":
    kw = dict(a.split("=", 1) for a in sys.argv[1:])
    main(n=int(kw.get("n", 4000)), epochs=float(kw.get("epochs", 8)), out=kw.get("out", "tagger_out"))
