import json
import logging
from dataclasses import dataclass, field

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler
from transformers import BertConfig, BertForSequenceClassification, HfArgumentParser, get_linear_schedule_with_warmup

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s", level=logging.INFO)
logger = logging.getLogger(__name__)


@dataclass
class ModelArgs:
    hidden_size: int = field(default=256)
    num_layers: int = field(default=4)
    num_heads: int = field(default=4)
    vocab_size: int = field(default=1000)


@dataclass
class TrainArgs:
    num_examples: int = field(default=4000)
    seq_len: int = field(default=48)
    per_device_batch_size: int = field(default=16)
    gradient_accumulation_steps: int = field(default=4)
    epochs: int = field(default=3)
    learning_rate: float = field(default=2e-4)
    warmup_ratio: float = field(default=0.1)
    max_grad_norm: float = field(default=1.0)
    log_every: int = field(default=10)
    seed: int = field(default=42)
    output_dir: str = field(default="bert-scratch")


class SyntheticTopics(Dataset):
    """Three topics; each one prefers its own third of the vocabulary."""

    def __init__(self, n, seq_len, vocab, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        width = (vocab - 10) // 3
        topical = torch.randint(0, width, (n, seq_len), generator=g) + 10 + self.labels[:, None] * width
        noise = torch.randint(10, vocab, (n, seq_len), generator=g)
        keep = torch.rand(n, seq_len, generator=g) < 0.2
        self.ids = torch.where(keep, topical, noise)
        self.ids[:, 0] = 1
        lengths = torch.randint(seq_len // 2, seq_len + 1, (n,), generator=g)
        self.mask = (torch.arange(seq_len)[None] < lengths[:, None]).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "attention_mask": self.mask[i], "labels": self.labels[i]}


def param_groups(model, wd=0.01):
    no_decay = ("bias", "LayerNorm.weight")
    return [
        {"params": [p for n, p in model.named_parameters() if not any(k in n for k in no_decay)], "weight_decay": wd},
        {"params": [p for n, p in model.named_parameters() if any(k in n for k in no_decay)], "weight_decay": 0.0},
    ]


def evaluate(model, loader, device):
    model.eval()
    good = n = 0
    with torch.no_grad():
        for batch in loader:
            batch = {k: v.to(device) for k, v in batch.items()}
            pred = model(**batch).logits.argmax(-1)
            good += (pred == batch["labels"]).sum().item()
            n += len(pred)
    return good / n


def main():
    margs, targs = HfArgumentParser((ModelArgs, TrainArgs)).parse_args_into_dataclasses()
    torch.manual_seed(targs.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = BertConfig(vocab_size=margs.vocab_size, hidden_size=margs.hidden_size, num_labels=3,
                        num_hidden_layers=margs.num_layers, num_attention_heads=margs.num_heads,
                        intermediate_size=4 * margs.hidden_size, max_position_embeddings=targs.seq_len)
    model = BertForSequenceClassification(config).to(device)
    train_set = SyntheticTopics(targs.num_examples, targs.seq_len, margs.vocab_size, 1)
    eval_set = SyntheticTopics(targs.num_examples // 8, targs.seq_len, margs.vocab_size, 2)
    train_loader = DataLoader(train_set, sampler=RandomSampler(train_set), batch_size=targs.per_device_batch_size,
                              drop_last=True)
    eval_loader = DataLoader(eval_set, batch_size=64)

    accum = targs.gradient_accumulation_steps
    updates_per_epoch = len(train_loader) // accum
    t_total = updates_per_epoch * targs.epochs
    optimizer = torch.optim.AdamW(param_groups(model), lr=targs.learning_rate)
    scheduler = get_linear_schedule_with_warmup(optimizer, int(targs.warmup_ratio * t_total), t_total)
    logger.info("***** %d examples, %d updates *****", len(train_set), t_total)

    global_step, running = 0, 0.0
    for epoch in range(targs.epochs):
        model.train()
        model.zero_grad()
        for step, batch in enumerate(train_loader):
            if step == updates_per_epoch * accum:
                break
            batch = {k: v.to(device) for k, v in batch.items()}
            loss = model(**batch).loss / accum
            loss.backward()
            running += loss.item()
            if (step + 1) % accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), targs.max_grad_norm)
                optimizer.step()
                scheduler.step()
                model.zero_grad()
                global_step += 1
                if global_step % targs.log_every == 0:
                    logger.info("step %d loss %.4f lr %.2e", global_step, running / targs.log_every,
                                scheduler.get_last_lr()[0])
                    running = 0.0
        logger.info("epoch %d accuracy %.4f", epoch, evaluate(model, eval_loader, device))
    model.save_pretrained(targs.output_dir)
    with open(f"{targs.output_dir}/train_args.json", "w") as f:
        json.dump(vars(targs), f, indent=2)


if __name__ == "__main__":
    main()
