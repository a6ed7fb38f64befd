# Fine-tune DistilBERT on support tickets (tickets.csv: text,label)
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import AutoTokenizer, AutoModelForSequenceClassification, get_linear_schedule_with_warmup

MODEL = 'distilbert-base-uncased'
EPOCHS, BS, ACCUM, LR, MAXLEN = 4, 8, 4, 3e-5, 256
device = 'cuda' if torch.cuda.is_available() else 'cpu'

df = pd.read_csv('tickets.csv').sample(frac=1, random_state=0)
label2id = {l: i for i, l in enumerate(sorted(df.label.unique()))}
tok = AutoTokenizer.from_pretrained(MODEL)


class Tickets(Dataset):
    def __init__(self, frame):
        self.enc = tok(frame.text.tolist(), truncation=True, padding='max_length', max_length=MAXLEN, return_tensors='pt')
        self.y = torch.tensor([label2id[l] for l in frame.label])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        d = {k: v[i] for k, v in self.enc.items()}
        d['labels'] = self.y[i]
        return d


cut = int(len(df) * .9)
train_dl = DataLoader(Tickets(df[:cut]), batch_size=BS, shuffle=True, drop_last=True)
val_dl = DataLoader(Tickets(df[cut:]), batch_size=32)

model = AutoModelForSequenceClassification.from_pretrained(MODEL, num_labels=len(label2id)).to(device)
no_decay = ('bias', 'LayerNorm.weight')
groups = [
    {'params': [p for n, p in model.named_parameters() if not any(k in n for k in no_decay)], 'weight_decay': 0.01},
    {'params': [p for n, p in model.named_parameters() if any(k in n for k in no_decay)], 'weight_decay': 0.0},
]
optimizer = torch.optim.AdamW(groups, lr=LR)
num_updates = len(train_dl) // ACCUM * EPOCHS
scheduler = get_linear_schedule_with_warmup(optimizer, int(.1 * num_updates), num_updates)

for epoch in range(EPOCHS):
    model.train()
    model.zero_grad()
    for i, batch in enumerate(train_dl):
        batch = {k: v.to(device) for k, v in batch.items()}
        loss = model(**batch).loss
        (loss / ACCUM).backward()
        if (i + 1) % ACCUM == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            model.zero_grad()
        if i % 100 == 0:
            print(epoch, i, loss.item())

    model.eval()
    ok = 0
    for batch in val_dl:
        batch = {k: v.to(device) for k, v in batch.items()}
        with torch.no_grad():
            ok += (model(**batch).logits.argmax(-1) == batch['labels']).sum().item()
    print('val acc', ok / len(val_dl.dataset))
model.save_pretrained('ticket-model')
