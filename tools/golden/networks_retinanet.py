"""RetinaNets in PyTorch: torchvision's own, and our small ones of torchvision's parts.

`make(network, classes, norm)` gives a torchvision RetinaNet; `norm` makes a normalisation of a number
of channels and an epsilon. Modules have the names of our layers, but for the body's prefix where ours
has none (`ours`)."""
import math
from collections import OrderedDict

import torch.nn.functional as F
import torchvision_ops  # noqa: F401, before torchvision
from torch import nn
from torchvision.models import resnet50
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.models.detection.retinanet import RetinaNet, RetinaNetHead
from torchvision.ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelP6P7

BASES = {"retinanet_r50": 32, "retinanet_mini": 16, "retinanet_lite0": 24}
NARROW, DEPTH = 64, 2
BODY = "backbone.body."


class BasicBlock(nn.Module):
    def __init__(self, before, filters, stride, norm):
        super().__init__()
        self.conv1 = nn.Conv2d(before, filters, 3, stride, 1, bias=False)
        self.bn1 = norm(filters, 1e-5)
        self.conv2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.bn2 = norm(filters, 1e-5)
        self.downsample = None
        if stride > 1 or before != filters:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, filters, 1, stride, bias=False), norm(filters, 1e-5))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class MiniBody(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 2, 1, bias=False)
        self.bn1 = norm(16, 1e-5)
        self.conv2 = nn.Conv2d(16, 32, 3, 2, 1, bias=False)
        self.bn2 = norm(32, 1e-5)
        before = 32
        for stage, filters in enumerate((32, 64, 128, 128)):
            first = BasicBlock(before, filters, 2 if stage else 1, norm)
            self.add_module(f"layer{stage + 1}",
                            nn.Sequential(first, BasicBlock(filters, filters, 1, norm)))
            before = filters

    def forward(self, x):
        x = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        out = OrderedDict()
        for stage in range(4):
            x = self.get_submodule(f"layer{stage + 1}")(x)
            if stage:
                out[str(stage - 1)] = x
        return out


class Lite0Body(nn.Module):
    """EfficientNet-Lite0; padding is TensorFlow's `same`."""

    STAGES = [(1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80),
              (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320)]

    def __init__(self, norm):
        super().__init__()
        self.norm = norm
        self.conv("stem_conv", 3, 32, 3, 2)
        self.add_module("stem_bn", norm(32, 1e-3))
        self.blocks = []
        before = 32
        for s, (repeats, size, stride, expansion, filters) in enumerate(self.STAGES):
            for b in range(repeats):
                name = f"block{s + 1}{chr(ord('a') + b)}_"
                wide = before * expansion
                if expansion > 1:
                    self.conv(name + "expand_conv", before, wide, 1)
                    self.add_module(name + "expand_bn", norm(wide, 1e-3))
                self.conv(name + "dwconv", wide, wide, size, stride if b == 0 else 1, wide)
                self.add_module(name + "bn", norm(wide, 1e-3))
                self.conv(name + "project_conv", wide, filters, 1)
                self.add_module(name + "project_bn", norm(filters, 1e-3))
                self.blocks.append((name, s, b, expansion > 1))
                before = filters

    def conv(self, name, before, filters, size, stride=1, groups=1):
        self.add_module(name, nn.Conv2d(before, filters, size, stride, groups=groups, bias=False))

    def call(self, name, x):
        conv = self.get_submodule(name)
        pads = []
        for extent in (x.shape[3], x.shape[2]):
            size, stride = conv.kernel_size[0], conv.stride[0]
            total = max((math.ceil(extent / stride) - 1) * stride + size - extent, 0)
            pads += [total // 2, total - total // 2]
        return conv(F.pad(x, pads))

    def forward(self, x):
        x = F.relu6(self.stem_bn(self.call("stem_conv", x)))
        ends = {}
        for name, stage, number, widens in self.blocks:
            y = x
            if widens:
                y = F.relu6(self.get_submodule(name + "expand_bn")(self.call(name + "expand_conv", y)))
            y = F.relu6(self.get_submodule(name + "bn")(self.call(name + "dwconv", y)))
            y = self.get_submodule(name + "project_bn")(self.call(name + "project_conv", y))
            x = x + y if number > 0 else y
            ends[stage] = x
        return OrderedDict((("0", ends[2]), ("1", ends[4]), ("2", ends[6])))


class Backbone(nn.Module):
    def __init__(self, body, channels):
        super().__init__()
        self.body = body
        self.fpn = FeaturePyramidNetwork(channels, NARROW)
        self.out_channels = NARROW

    def forward(self, x):
        return self.fpn(self.body(x))


def make(network, classes, norm):
    if network == "retinanet_r50":
        body = resnet50(norm_layer=lambda channels: norm(channels, 1e-5))
        backbone = _resnet_fpn_extractor(body, 5, returned_layers=[2, 3, 4],
                                         extra_blocks=LastLevelP6P7(256, 256))
        return RetinaNet(backbone, classes)  # its anchors are those of base 32
    if network == "retinanet_mini":
        backbone = Backbone(MiniBody(norm), [64, 128, 128])
    else:
        backbone = Backbone(Lite0Body(norm), [40, 112, 320])
    sides = [BASES[network] << level for level in range(3)]
    anchors = AnchorGenerator(
        tuple((x, int(x * 2 ** (1 / 3)), int(x * 2 ** (2 / 3))) for x in sides),
        ((0.5, 1.0, 2.0),) * 3)
    head = RetinaNetHead(NARROW, 9, classes)
    for tower in (head.classification_head, head.regression_head):
        tower.conv = tower.conv[:DEPTH]
    return RetinaNet(backbone, classes, anchor_generator=anchors, head=head)


def ours(network, module):
    """The name of our layer."""
    if network == "retinanet_lite0" and module.startswith(BODY):
        return module[len(BODY):]
    return module
