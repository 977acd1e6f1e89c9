"""Networks of the zoo in PyTorch, layer for layer those of `plimsoll summary`."""

import torch
from torch import library, nn
from torch.nn import functional as F


class Conv(nn.Sequential):
    """Convolution without bias, BatchNorm, ReLU. Padding is Keras's: `same` unless valid."""

    def __init__(self, inputs, filters, kernel, stride=1, valid=False):
        kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        padding = (0, 0) if valid else (kernel[0] // 2, kernel[1] // 2)
        super().__init__(
            nn.Conv2d(inputs, filters, kernel, stride, padding, bias=False),
            nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01),
            nn.ReLU(inplace=True),
        )


class Branches(nn.Module):
    """Runs branches side by side and joins their channels."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def chain(inputs, *layers):
    """Conv layers in a row; each is (filters, kernel[, stride, valid])."""
    modules = []
    for layer in layers:
        modules.append(Conv(inputs, *layer))
        inputs = layer[0]
    return nn.Sequential(*modules)


def averaged(inputs, filters):
    return nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), Conv(inputs, filters, 1))


def inception_v3(classes=1000):
    def block_a(n, pool):
        return Branches(
            chain(n, (64, 1)), chain(n, (48, 1), (64, 5)), chain(n, (64, 1), (96, 3), (96, 3)), averaged(n, pool)
        )

    def block_b(n, m):
        return Branches(
            chain(n, (192, 1)),
            chain(n, (m, 1), (m, (1, 7)), (192, (7, 1))),
            chain(n, (m, 1), (m, (7, 1)), (m, (1, 7)), (m, (7, 1)), (192, (1, 7))),
            averaged(n, 192),
        )

    def block_c(n):
        fork = lambda m: Branches(Conv(m, 384, (1, 3)), Conv(m, 384, (3, 1)))
        return Branches(
            chain(n, (320, 1)),
            nn.Sequential(chain(n, (384, 1)), fork(384)),
            nn.Sequential(chain(n, (448, 1), (384, 3)), fork(384)),
            averaged(n, 192),
        )

    return nn.Sequential(
        chain(3, (32, 3, 2, True), (32, 3, 1, True), (64, 3)),
        nn.MaxPool2d(3, 2),
        chain(64, (80, 1, 1, True), (192, 3, 1, True)),
        nn.MaxPool2d(3, 2),
        block_a(192, 32),
        block_a(256, 64),
        block_a(288, 64),
        Branches(chain(288, (384, 3, 2, True)), chain(288, (64, 1), (96, 3), (96, 3, 2, True)), nn.MaxPool2d(3, 2)),
        block_b(768, 128),
        block_b(768, 160),
        block_b(768, 160),
        block_b(768, 192),
        Branches(
            chain(768, (192, 1), (320, 3, 2, True)),
            chain(768, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, True)),
            nn.MaxPool2d(3, 2),
        ),
        block_c(1280),
        block_c(2048),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2048, classes),
    )


class Separable(nn.Sequential):
    """Depthwise 3x3, 1x1, BatchNorm."""

    def __init__(self, inputs, filters):
        super().__init__(
            nn.Conv2d(inputs, inputs, 3, 1, 1, groups=inputs, bias=False),
            nn.Conv2d(inputs, filters, 1, bias=False),
            nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01),
        )


class SamePool(nn.Module):
    """Keras's MaxPooling2D(3, 2, 'same'): the odd row and column of padding lie at the end."""

    def forward(self, x):
        pad = lambda n: max((-(-n // 2) - 1) * 2 + 3 - n, 0)
        h, w = pad(x.shape[2]), pad(x.shape[3])
        x = F.pad(x, (w // 2, w - w // 2, h // 2, h - h // 2), value=float("-inf"))
        return F.max_pool2d(x, 3, 2)


class EntryBlock(nn.Module):
    def __init__(self, inputs, first, second, relu):
        super().__init__()
        self.side = nn.Sequential(
            nn.Conv2d(inputs, second, 1, 2, bias=False), nn.BatchNorm2d(second, eps=1e-3, momentum=0.01)
        )
        start = [nn.ReLU()] if relu else []
        self.main = nn.Sequential(
            *start, Separable(inputs, first), nn.ReLU(inplace=True), Separable(first, second), SamePool()
        )

    def forward(self, x):
        return self.main(x) + self.side(x)


class MiddleBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.main = nn.Sequential(
            nn.ReLU(), Separable(width, width),
            nn.ReLU(inplace=True), Separable(width, width),
            nn.ReLU(inplace=True), Separable(width, width),
        )  # fmt: skip

    def forward(self, x):
        return self.main(x) + x


def xception(classes=1000):
    return nn.Sequential(
        Conv(3, 32, 3, 2, True),
        Conv(32, 64, 3, 1, True),
        EntryBlock(64, 128, 128, False),
        EntryBlock(128, 256, 256, True),
        EntryBlock(256, 728, 728, True),
        *[MiddleBlock(728) for _ in range(8)],
        EntryBlock(728, 728, 1024, True),
        Separable(1024, 1536),
        nn.ReLU(inplace=True),
        Separable(1536, 2048),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2048, classes),
    )


class Bottleneck(nn.Module):
    """Keras's: the stride in the first 1x1, biases in all convolutions."""

    def __init__(self, inputs, width, stride=1, side=False):
        super().__init__()
        norm = lambda n: nn.BatchNorm2d(n, eps=1.001e-5, momentum=0.01)
        self.main = nn.Sequential(
            nn.Conv2d(inputs, width, 1, stride), norm(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, 1, 1), norm(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, 4 * width, 1), norm(4 * width),
        )  # fmt: skip
        self.side = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride), norm(4 * width)) if side else nn.Identity()

    def forward(self, x):
        return F.relu(self.main(x) + self.side(x), inplace=True)


def resnet50(classes=1000):
    blocks, inputs = [], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            blocks.append(Bottleneck(inputs, width, stride if i == 0 else 1, side=i == 0))
            inputs = 4 * width
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64, eps=1.001e-5, momentum=0.01), nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes),
    )  # fmt: skip


def googlenet(classes=1000):
    def block(n, one, three_reduce, three, five_reduce, five, pool):
        return Branches(
            chain(n, (one, 1)),
            chain(n, (three_reduce, 1), (three, 3)),
            chain(n, (five_reduce, 1), (five, 5)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), Conv(n, pool, 1)),
        )

    return nn.Sequential(
        Conv(3, 64, 7, 2), SamePool(), Conv(64, 64, 1), Conv(64, 192, 3), SamePool(),
        block(192, 64, 96, 128, 16, 32, 32), block(256, 128, 128, 192, 32, 96, 64), SamePool(),
        block(480, 192, 96, 208, 16, 48, 64), block(512, 160, 112, 224, 24, 64, 64),
        block(512, 128, 128, 256, 24, 64, 64), block(512, 112, 144, 288, 32, 64, 64),
        block(528, 256, 160, 320, 32, 128, 128), SamePool(),
        block(832, 256, 160, 320, 32, 128, 128), block(832, 384, 192, 384, 48, 128, 128),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.4), nn.Linear(1024, classes),
    )  # fmt: skip


def classifier(network, batch, image):
    """A module, its pictures, and what makes a loss of both."""
    labels = torch.arange(batch) % 1000
    loss_of = nn.CrossEntropyLoss()
    return network(), torch.rand(batch, 3, image, image), lambda model, images: loss_of(model(images), labels)


def retinanet_r50(batch, image):
    """torchvision's, from nothing: BatchNorm is trained, 91 columns of classes, eight boxes a picture."""
    # Its compiled ops do not load into every torch, and training needs none of them; but it asks whether they are there.
    for op in ("nms(Tensor dets, Tensor scores, float t) -> Tensor",
               "qnms(Tensor dets, Tensor scores, float t, float scale, float zero) -> Tensor"):
        try:
            library.define(f"torchvision::{op.split('(')[0]}", op[op.index("("):])
        except RuntimeError:
            pass
    from torchvision.models.detection import retinanet_resnet50_fpn

    model = retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=91, min_size=image, max_size=image)
    sides = torch.arange(8) * 0.05 + 0.1
    corners = 0.06 * torch.arange(8)
    boxes = torch.stack([corners, corners, corners + sides, corners + sides], 1) * image
    targets = [{"boxes": boxes, "labels": torch.arange(8) + 1} for _ in range(batch)]
    return model, torch.rand(batch, 3, image, image), lambda model, images: sum(model(list(images), targets).values())


DETECTORS = {"retinanet_r50": retinanet_r50}
NETWORKS = {"inception_v3": inception_v3, "xception": xception, "resnet50": resnet50, "googlenet": googlenet}
