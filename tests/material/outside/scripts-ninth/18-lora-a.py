"""LoRA fine-tuning of a causal LM (hand-rolled adapters, HF model).

python lora_sft.py --model ./base --data train.txt --rank 8
Without --model a small randomly initialised GPT-2 is used (smoke test).
"""
import argparse
import math
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup
from transformers.pytorch_utils import Conv1D


class LoRA(nn.Module):
    def __init__(self, base, rank, alpha, dropout=0.0):
        super().__init__()
        self.base = base
        if isinstance(base, Conv1D):
            d_in, d_out = base.weight.shape
        else:
            d_out, d_in = base.weight.shape
        self.a = nn.Parameter(torch.empty(rank, d_in))
        self.b = nn.Parameter(torch.zeros(d_out, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))
        self.scale = alpha / rank
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.base(x) + self.scale * (self.drop(x) @ self.a.t() @ self.b.t())


def inject(model, targets, rank, alpha, dropout):
    for p in model.parameters():
        p.requires_grad_(False)
    hits = []
    for name, module in list(model.named_modules()):
        for child_name, child in list(module.named_children()):
            if child_name in targets and isinstance(child, (nn.Linear, Conv1D)):
                setattr(module, child_name, LoRA(child, rank, alpha, dropout))
                hits.append(f"{name}.{child_name}")
    if not hits:
        raise ValueError(f"no module matched {targets}")
    return hits


class ByteChunks(Dataset):
    """Raw bytes as tokens: enough for the smoke test and byte-level models."""

    def __init__(self, path, block):
        data = open(path, "rb").read()
        n = len(data) // block
        self.x = torch.frombuffer(bytearray(data[:n * block]), dtype=torch.uint8).long().view(n, block)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


def lora_state(model):
    return {n: p.detach().cpu() for n, p in model.named_parameters() if p.requires_grad}


@torch.no_grad()
def perplexity(model, loader, device):
    model.eval()
    s = n = 0
    for x in loader:
        x = x.to(device)
        s += model(input_ids=x, labels=x).loss.item() * x.size(0)
        n += x.size(0)
    model.train()
    return math.exp(s / n)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--model", default="")
    ap.add_argument("--data", required=True)
    ap.add_argument("--rank", type=int, default=8)
    ap.add_argument("--alpha", type=float, default=16)
    ap.add_argument("--dropout", type=float, default=0.05)
    ap.add_argument("--targets", default="c_attn,c_proj,q_proj,k_proj,v_proj,o_proj")
    ap.add_argument("--block", type=int, default=128)
    ap.add_argument("--bs", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--out", default="adapter")
    args = ap.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if args.model:
        model = AutoModelForCausalLM.from_pretrained(args.model)
    else:
        model = GPT2LMHeadModel(GPT2Config(vocab_size=256, n_positions=args.block, n_embd=64, n_layer=2, n_head=2,
                                           bos_token_id=0, eos_token_id=0))
    hits = inject(model, set(args.targets.split(",")), args.rank, args.alpha, args.dropout)
    model.to(device)
    params = [p for p in model.parameters() if p.requires_grad]
    print(f"{len(hits)} adapters, {sum(p.numel() for p in params):,} trainable of "
          f"{sum(p.numel() for p in model.parameters()):,}")

    data = ByteChunks(args.data, args.block)
    n_val = max(1, len(data) // 10)
    train_ds, val_ds = torch.utils.data.random_split(data, [len(data) - n_val, n_val],
                                                     generator=torch.Generator().manual_seed(0))
    train_dl = DataLoader(train_ds, args.bs, shuffle=True, drop_last=True)
    val_dl = DataLoader(val_ds, args.bs)
    optimizer = torch.optim.AdamW(params, lr=args.lr, weight_decay=0.0)
    total = args.epochs * len(train_dl)
    sched = get_cosine_schedule_with_warmup(optimizer, int(0.03 * total), total)
    amp = device == "cuda" and torch.cuda.is_bf16_supported()

    model.train()
    step = 0
    print("ppl before", perplexity(model, val_dl, device))
    for epoch in range(args.epochs):
        for x in train_dl:
            x = x.to(device)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=amp):
                loss = model(input_ids=x, labels=x).loss
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            gn = nn.utils.clip_grad_norm_(params, 1.0)
            optimizer.step()
            sched.step()
            step += 1
            if step % 20 == 0:
                print(f"step {step}/{total} loss {loss.item():.4f} gnorm {gn.item():.3f} "
                      f"lr {sched.get_last_lr()[0]:.2e}")
        print(f"epoch {epoch} ppl {perplexity(model, val_dl, device):.2f}")
    os.makedirs(args.out, exist_ok=True)
    torch.save(lora_state(model), os.path.join(args.out, "adapter.pt"))


if __name__ == "__main__":
    main()
