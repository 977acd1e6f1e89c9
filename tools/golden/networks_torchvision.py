"""Networks as torchvision defines them, with its names of modules, written from its published
definitions: what a state_dict of the package holds fits these, but for auxiliary classifiers. And
TF-Slim's resnet_v1_50, with our names."""

import torch
import torch.nn.functional as F
from torch import nn


class Basic(nn.Module):
    """Convolution without bias, batch normalization, relu: BasicConv2d of both Inceptions."""

    def __init__(self, channels, filters, size, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, size, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(filters, eps=1e-3)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    def __init__(self, channels, filters, stride, first):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, filters, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(filters)
        self.conv3 = nn.Conv2d(filters, 4 * filters, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * filters)
        if first:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels, 4 * filters, 1, stride, bias=False),
                nn.BatchNorm2d(4 * filters),
            )
        self.first = first

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (self.downsample(x) if self.first else x))


class ResNet50(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        channels = 64
        for number, (filters, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3)), 1):
            layer = []
            for block in range(blocks):
                stride = 2 if block == 0 and number > 1 else 1
                layer.append(Bottleneck(channels, filters, stride, block == 0))
                channels = 4 * filters
            setattr(self, f"layer{number}", nn.Sequential(*layer))
        self.fc = nn.Linear(2048, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def conv_bn_relu6(channels, filters, size, stride, groups=1):
    return nn.Sequential(
        nn.Conv2d(channels, filters, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(filters),
        nn.ReLU6(),
    )


class InvertedResidual(nn.Module):
    def __init__(self, channels, filters, stride, expansion):
        super().__init__()
        wide = channels * expansion
        parts = [conv_bn_relu6(channels, wide, 1, 1)] if expansion > 1 else []
        parts += [
            conv_bn_relu6(wide, wide, 3, stride, wide),
            nn.Conv2d(wide, filters, 1, bias=False),
            nn.BatchNorm2d(filters),
        ]
        self.conv = nn.Sequential(*parts)
        self.adds = stride == 1 and channels == filters

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    STAGES = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )

    def __init__(self, classes):
        super().__init__()
        features, channels = [conv_bn_relu6(3, 32, 3, 2)], 32
        for expansion, filters, blocks, stride in self.STAGES:
            for block in range(blocks):
                step = stride if block == 0 else 1
                features.append(InvertedResidual(channels, filters, step, expansion))
                channels = filters
        features.append(conv_bn_relu6(channels, 1280, 1, 1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0.0), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


class GoogLeNetBlock(nn.Module):
    def __init__(self, channels, a, rb, b, rc, c, p):
        super().__init__()
        self.branch1 = Basic(channels, a, 1)
        self.branch2 = nn.Sequential(Basic(channels, rb, 1), Basic(rb, b, 3, padding=1))
        self.branch3 = nn.Sequential(Basic(channels, rc, 1), Basic(rc, c, 3, padding=1))
        pool = nn.MaxPool2d(3, 1, 1, ceil_mode=True)
        self.branch4 = nn.Sequential(pool, Basic(channels, p, 1))

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class GoogLeNet(nn.Module):
    BLOCKS = {
        "inception3a": (192, 64, 96, 128, 16, 32, 32),
        "inception3b": (256, 128, 128, 192, 32, 96, 64),
        "inception4a": (480, 192, 96, 208, 16, 48, 64),
        "inception4b": (512, 160, 112, 224, 24, 64, 64),
        "inception4c": (512, 128, 128, 256, 24, 64, 64),
        "inception4d": (512, 112, 144, 288, 32, 64, 64),
        "inception4e": (528, 256, 160, 320, 32, 128, 128),
        "inception5a": (832, 256, 160, 320, 32, 128, 128),
        "inception5b": (832, 384, 192, 384, 48, 128, 128),
    }

    def __init__(self, classes):
        super().__init__()
        self.conv1 = Basic(3, 64, 7, 2, 3)
        self.conv2 = Basic(64, 64, 1)
        self.conv3 = Basic(64, 192, 3, padding=1)
        for name, widths in self.BLOCKS.items():
            setattr(self, name, GoogLeNetBlock(*widths))
        self.fc = nn.Linear(1024, classes)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x), 3, 2, ceil_mode=True)
        x = F.max_pool2d(self.conv3(self.conv2(x)), 3, 2, ceil_mode=True)
        for name in self.BLOCKS:
            x = getattr(self, name)(x)
            if name in ("inception3b", "inception4e"):
                x = F.max_pool2d(x, 3 if name == "inception3b" else 2, 2, ceil_mode=True)
        return self.fc(x.mean((2, 3)))


def averaged(x):
    return F.avg_pool2d(x, 3, 1, 1)


class InceptionA(nn.Module):
    def __init__(self, channels, pool):
        super().__init__()
        self.branch1x1 = Basic(channels, 64, 1)
        self.branch5x5_1 = Basic(channels, 48, 1)
        self.branch5x5_2 = Basic(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = Basic(channels, 64, 1)
        self.branch3x3dbl_2 = Basic(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = Basic(96, 96, 3, padding=1)
        self.branch_pool = Basic(channels, pool, 1)

    def forward(self, x):
        five = self.branch5x5_2(self.branch5x5_1(x))
        three = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch1x1(x), five, three, self.branch_pool(averaged(x))], 1)


class InceptionB(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branch3x3 = Basic(channels, 384, 3, 2)
        self.branch3x3dbl_1 = Basic(channels, 64, 1)
        self.branch3x3dbl_2 = Basic(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = Basic(96, 96, 3, 2)

    def forward(self, x):
        deep = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch3x3(x), deep, F.max_pool2d(x, 3, 2)], 1)


class InceptionC(nn.Module):
    def __init__(self, channels, m):
        super().__init__()
        row, column = {"padding": (0, 3)}, {"padding": (3, 0)}
        self.branch1x1 = Basic(channels, 192, 1)
        self.branch7x7_1 = Basic(channels, m, 1)
        self.branch7x7_2 = Basic(m, m, (1, 7), **row)
        self.branch7x7_3 = Basic(m, 192, (7, 1), **column)
        self.branch7x7dbl_1 = Basic(channels, m, 1)
        self.branch7x7dbl_2 = Basic(m, m, (7, 1), **column)
        self.branch7x7dbl_3 = Basic(m, m, (1, 7), **row)
        self.branch7x7dbl_4 = Basic(m, m, (7, 1), **column)
        self.branch7x7dbl_5 = Basic(m, 192, (1, 7), **row)
        self.branch_pool = Basic(channels, 192, 1)

    def forward(self, x):
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        deep = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        deep = self.branch7x7dbl_5(self.branch7x7dbl_4(deep))
        return torch.cat([self.branch1x1(x), seven, deep, self.branch_pool(averaged(x))], 1)


class InceptionD(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branch3x3_1 = Basic(channels, 192, 1)
        self.branch3x3_2 = Basic(192, 320, 3, 2)
        self.branch7x7x3_1 = Basic(channels, 192, 1)
        self.branch7x7x3_2 = Basic(192, 192, (1, 7), padding=(0, 3))
        self.branch7x7x3_3 = Basic(192, 192, (7, 1), padding=(3, 0))
        self.branch7x7x3_4 = Basic(192, 192, 3, 2)

    def forward(self, x):
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        return torch.cat([three, self.branch7x7x3_4(seven), F.max_pool2d(x, 3, 2)], 1)


class InceptionE(nn.Module):
    def __init__(self, channels):
        super().__init__()
        row, column = {"padding": (0, 1)}, {"padding": (1, 0)}
        self.branch1x1 = Basic(channels, 320, 1)
        self.branch3x3_1 = Basic(channels, 384, 1)
        self.branch3x3_2a = Basic(384, 384, (1, 3), **row)
        self.branch3x3_2b = Basic(384, 384, (3, 1), **column)
        self.branch3x3dbl_1 = Basic(channels, 448, 1)
        self.branch3x3dbl_2 = Basic(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = Basic(384, 384, (1, 3), **row)
        self.branch3x3dbl_3b = Basic(384, 384, (3, 1), **column)
        self.branch_pool = Basic(channels, 192, 1)

    def forward(self, x):
        wide = self.branch3x3_1(x)
        deep = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        parts = [self.branch1x1(x), self.branch3x3_2a(wide), self.branch3x3_2b(wide)]
        parts += [self.branch3x3dbl_3a(deep), self.branch3x3dbl_3b(deep)]
        return torch.cat([*parts, self.branch_pool(averaged(x))], 1)


class InceptionV3(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.Conv2d_1a_3x3 = Basic(3, 32, 3, 2)
        self.Conv2d_2a_3x3 = Basic(32, 32, 3)
        self.Conv2d_2b_3x3 = Basic(32, 64, 3, padding=1)
        self.Conv2d_3b_1x1 = Basic(64, 80, 1)
        self.Conv2d_4a_3x3 = Basic(80, 192, 3)
        self.Mixed_5b = InceptionA(192, 32)
        self.Mixed_5c = InceptionA(256, 64)
        self.Mixed_5d = InceptionA(288, 64)
        self.Mixed_6a = InceptionB(288)
        self.Mixed_6b = InceptionC(768, 128)
        self.Mixed_6c = InceptionC(768, 160)
        self.Mixed_6d = InceptionC(768, 160)
        self.Mixed_6e = InceptionC(768, 192)
        self.Mixed_7a = InceptionD(768)
        self.Mixed_7b = InceptionE(1280)
        self.Mixed_7c = InceptionE(2048)
        self.fc = nn.Linear(2048, classes)

    def forward(self, x):
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = F.max_pool2d(x, 3, 2)
        x = F.max_pool2d(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)), 3, 2)
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))
        x = self.Mixed_7a(self.Mixed_6e(self.Mixed_6d(x)))
        return self.fc(self.Mixed_7c(self.Mixed_7b(x)).mean((2, 3)))


class ResNetV1(nn.Module):
    """Of TF-Slim: a block halves in its last unit, and the last block does not."""

    BLOCKS = ((64, 3, 2), (128, 4, 2), (256, 6, 2), (512, 3, 1))

    def __init__(self, classes):
        super().__init__()
        self.add("conv1", 3, 64, 7, 2)
        channels = 64
        for number, (filters, units, stride) in enumerate(self.BLOCKS, 1):
            for unit in range(1, units + 1):
                name = f"block{number}_unit_{unit}_"
                step = stride if unit == units else 1
                if unit == 1:
                    self.add(name + "shortcut", channels, 4 * filters, 1, step)
                self.add(name + "conv1", channels, filters, 1, 1)
                self.add(name + "conv2", filters, filters, 3, step)
                self.add(name + "conv3", filters, 4 * filters, 1, 1)
                channels = 4 * filters
        self.logits = nn.Linear(2048, classes)

    def add(self, name, channels, filters, size, stride):
        setattr(self, name, nn.Conv2d(channels, filters, size, stride, size // 2, bias=False))
        setattr(self, name + "_bn", nn.BatchNorm2d(filters, eps=1e-5))

    def run(self, name, x):
        return getattr(self, name + "_bn")(getattr(self, name)(x))

    def forward(self, x):
        x = F.relu(self.run("conv1", x))
        # TensorFlow's SAME: of an even size, the odd cell is at the bottom and right.
        pads = [max((-(-n // 2) - 1) * 2 + 3 - n, 0) for n in x.shape[2:]]
        sides = (pads[1] // 2, pads[1] - pads[1] // 2, pads[0] // 2, pads[0] - pads[0] // 2)
        x = F.max_pool2d(F.pad(x, sides, value=float("-inf")), 3, 2)
        for number, (_, units, stride) in enumerate(self.BLOCKS, 1):
            for unit in range(1, units + 1):
                name = f"block{number}_unit_{unit}_"
                step = stride if unit == units else 1
                shortcut = self.run(name + "shortcut", x) if unit == 1 else x[:, :, ::step, ::step]
                y = F.relu(self.run(name + "conv1", x))
                y = F.relu(self.run(name + "conv2", y))
                x = F.relu(shortcut + self.run(name + "conv3", y))
        return self.logits(x.mean((2, 3)))


NETWORKS = {
    "resnet_v1_50": ResNetV1,
    "googlenet_torch": GoogLeNet,
    "mobilenet_v2_torch": MobileNetV2,
    "resnet50_torch": ResNet50,
    "inception_v3_torch": InceptionV3,
}
