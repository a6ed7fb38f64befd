"""Tiny GPT-ish line model with the HF Trainer and layer-wise learning rates.

The topmost layer gets the full --lr, every layer below it gets DECAY times the rate of the one
above; the embeddings are the lowest of all. Norms/biases are not decayed.
"""
import argparse
import tempfile
from pathlib import Path

import torch
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.utils import logging as hf_logging

hf_logging.set_verbosity_error()
DECAY, LAYERS, LEN = 0.5, 3, 32


class Lines(torch.utils.data.Dataset):
    def __init__(self):
        text = (Path(__file__).parent / "data" / "verses.txt").read_text().splitlines()
        self.chars = sorted(set("".join(text)))
        self.ids = [[self.chars.index(c) + 1 for c in t][:LEN] for t in text]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        row = self.ids[i] + [0] * (LEN - len(self.ids[i]))
        return {"tokens": torch.tensor(row)}


class Mini(nn.Module):
    def __init__(self, n, d=24):
        super().__init__()
        self.embed = nn.Embedding(n, d)
        self.pos = nn.Parameter(torch.zeros(LEN, d))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(d, 2, 48, dropout=0.0, batch_first=True) for _ in range(LAYERS))
        self.head = nn.Linear(d, n)

    def forward(self, tokens):
        h = self.embed(tokens) + self.pos
        mask = nn.Transformer.generate_square_subsequent_mask(LEN)
        for layer in self.layers:
            h = layer(h, src_mask=mask, is_causal=True)
        logits = self.head(h)
        loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)
        return {"loss": loss, "logits": logits}


class LayerwiseTrainer(Trainer):
    @staticmethod
    def height(name):
        """0 for the embeddings, 1..LAYERS for the layers, LAYERS + 1 for the head"""
        if name.startswith("layers."):
            return 1 + int(name.split(".")[1])
        return LAYERS + 1 if name.startswith("head") else 0

    def create_optimizer(self, model=None):
        if self.optimizer is None:
            groups = []
            for name, p in self.model.named_parameters():
                rate = self.args.learning_rate * DECAY ** self.height(name)
                groups.append({"params": [p], "lr": rate,
                               "weight_decay": self.args.weight_decay if p.ndim > 1 else 0.0})
            self.optimizer = torch.optim.AdamW(groups, lr=self.args.learning_rate, betas=(0.9, 0.99))
        return self.optimizer


class Say(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kw):
        if "loss" in logs:
            print(f"update {state.global_step} loss {float(logs['loss']):.4f} norm {float(logs['grad_norm']):.3f}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--epochs", type=float, default=2)
    ap.add_argument("--accum", type=int, default=2)
    a = ap.parse_args()
    torch.manual_seed(9)
    ds = Lines()
    model = Mini(len(ds.chars) + 1)
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(
            output_dir=out, learning_rate=a.lr, num_train_epochs=a.epochs, per_device_train_batch_size=10,
            gradient_accumulation_steps=a.accum, max_grad_norm=1.0, weight_decay=0.05, warmup_steps=4,
            lr_scheduler_type="linear", logging_steps=6, save_strategy="no", report_to=[], seed=9,
            use_cpu=True, remove_unused_columns=False, disable_tqdm=True)
        trainer = LayerwiseTrainer(model=model, args=args, train_dataset=ds, callbacks=[Say()])
        trainer.train()
    print("sum", round(sum(p.detach().abs().sum().item() for p in model.parameters()), 3))


if __name__ == "__main__":
    main()
