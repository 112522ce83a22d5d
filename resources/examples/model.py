"""A small image classifier with a training step.

Your own model for GPU Explorer: `gpuexplorer run model.py`, or File > Open model or CUDA file.

build() returns the module and example inputs. Its whole-number defaults become sizes to turn:
`gpuexplorer sweep model.py --size batch=8,32,128 --precision fp32,bf16`. With loss() there is a
training step, too: `--variant torch_training`.
"""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions with batch norm, and what came in added to what comes out."""

    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(x + self.second_norm(self.second(y)))


class Classifier(nn.Module):
    """Images to scores for ten classes."""

    def __init__(self, channels, blocks):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, padding=1)
        self.blocks = nn.Sequential(*(Block(channels) for _ in range(blocks)))
        self.head = nn.Linear(channels, 10)

    def forward(self, images):
        x = self.blocks(functional.relu(self.stem(images)))
        return self.head(x.mean(dim=(2, 3)))


def build(batch=16, channels=32, blocks=3):
    return Classifier(channels, blocks), torch.randn(batch, 3, 32, 32)


def loss(scores):
    classes = torch.arange(len(scores), device=scores.device) % 10
    return functional.cross_entropy(scores, classes)
