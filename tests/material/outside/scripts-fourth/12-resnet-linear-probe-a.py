import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

# Transfer learning on an ImageFolder (train/ and val/ subfolders).
# The backbone stays fixed, only the new head is trained.

ap = argparse.ArgumentParser()
ap.add_argument('data_dir')
ap.add_argument('--epochs', type=int, default=15)
ap.add_argument('--bs', type=int, default=64)
ap.add_argument('--lr', type=float, default=0.01)
ap.add_argument('--momentum', type=float, default=0.9)
ap.add_argument('--workers', type=int, default=4)
ap.add_argument('--save', default='probe.pth')


def build_model(num_classes):
    model = models.resnet18(weights=models.ResNet18_Weights.IMAGENET1K_V1)
    for param in model.parameters():
        param.requires_grad = False
    in_features = model.fc.in_features
    model.fc = nn.Sequential(
        nn.Linear(in_features, 256),
        nn.ReLU(inplace=True),
        nn.Dropout(0.3),
        nn.Linear(256, num_classes),
    )
    return model


def set_train_mode(model):
    # BN statistics of the frozen part must not move either
    model.eval()
    model.fc.train()


def get_data(args):
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    tfs = {
        'train': transforms.Compose([
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(mean, std),
        ]),
        'val': transforms.Compose([
            transforms.Resize(256),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize(mean, std),
        ]),
    }
    sets = {k: datasets.ImageFolder(os.path.join(args.data_dir, k), tfs[k]) for k in tfs}
    loaders = {k: DataLoader(sets[k], batch_size=args.bs, shuffle=(k == 'train'),
                             num_workers=args.workers) for k in sets}
    return loaders, sets['train'].classes


def run_phase(phase, model, loader, criterion, optimizer, device):
    if phase == 'train':
        set_train_mode(model)
    else:
        model.eval()
    running_loss = 0.0
    running_corrects = 0
    seen = 0
    for inputs, labels in loader:
        inputs = inputs.to(device)
        labels = labels.to(device)
        optimizer.zero_grad()
        with torch.set_grad_enabled(phase == 'train'):
            outputs = model(inputs)
            loss = criterion(outputs, labels)
            preds = outputs.argmax(1)
            if phase == 'train':
                loss.backward()
                optimizer.step()
        running_loss += loss.item() * inputs.size(0)
        running_corrects += (preds == labels).sum().item()
        seen += inputs.size(0)
    return running_loss / seen, running_corrects / seen


def main():
    args = ap.parse_args()
    device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')
    loaders, classes = get_data(args)
    model = build_model(len(classes)).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()),
                                lr=args.lr, momentum=args.momentum)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=7, gamma=0.1)

    best_acc = 0.0
    for epoch in range(args.epochs):
        print('Epoch {}/{}'.format(epoch + 1, args.epochs))
        print('-' * 10)
        for phase in ['train', 'val']:
            loss, acc = run_phase(phase, model, loaders[phase], criterion, optimizer, device)
            if phase == 'train':
                scheduler.step()
            print('{} Loss: {:.4f} Acc: {:.4f}'.format(phase, loss, acc))
        if acc > best_acc:
            best_acc = acc
            torch.save({'fc': model.fc.state_dict(), 'classes': classes}, args.save)
    print('Best val Acc: {:4f}'.format(best_acc))


if __name__ == '__main__':
    main()
