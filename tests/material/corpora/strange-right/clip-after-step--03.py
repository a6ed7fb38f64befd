"""Démonstration complète : l'écrêtage vient entre backward() et step()."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# données jouet
entrees = torch.randn(128, 16)
cibles = torch.randn(128, 8)
chargeur = DataLoader(TensorDataset(entrees, cibles), batch_size=16, shuffle=True)

reseau = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
critere = nn.MSELoss()
optimiseur = torch.optim.SGD(reseau.parameters(), lr=0.05)

for lot, (x, y) in enumerate(chargeur):
    optimiseur.zero_grad()
    perte = critere(reseau(x), y)
    perte.backward()
    # les gradients existent : on écrête maintenant, pas après step()
    norme = nn.utils.clip_grad_norm_(reseau.parameters(), max_norm=1.0)
    optimiseur.step()
    print(f"lot {lot} : perte {perte.item():.4f}, norme {norme:.3f}")
