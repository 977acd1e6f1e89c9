"""Faster R-CNNs in PyTorch: torchvision's own, and our small one of torchvision's parts.

`make(network, classes, norm)` gives a torchvision FasterRCNN of so many classes and the background;
`norm` makes a normalisation of a number of channels and an epsilon. Modules have the names of our
layers. Our dense layer over the bins of a region reads them in Keras's order, [7][7][C], torchvision's
in its own, [C][7][7]: `to_torch` and `to_ours` turn the weights of all dense layers."""
import sys
from collections import OrderedDict

import networks_retinanet as retinanet
import numpy as np
import torch.nn.functional as F
import torchvision_ops  # noqa: F401, before torchvision
from torch import nn
from torchvision.models import resnet50
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.models.detection.faster_rcnn import FasterRCNN, FastRCNNPredictor, TwoMLPHead
from torchvision.ops import MultiScaleRoIAlign, poolers
from torchvision.ops.feature_pyramid_network import FeaturePyramidNetwork

BASES = {"fasterrcnn_r50": 32, "fasterrcnn_mini": 16}
NARROW, HIDDEN, BINS = 64, 256, 7
PROPOSED = {"rpn_pre_nms_top_n_train": 600, "rpn_pre_nms_top_n_test": 600,
            "rpn_post_nms_top_n_train": 300, "rpn_post_nms_top_n_test": 300,
            "box_batch_size_per_image": 64}

# torchvision's compiled RoIAlign is not there; this one is Python, and in double. Unlike the compiled
# one it takes the border's value for samples that lie more than a cell outside, which count as 0.
_module = sys.modules["torchvision.ops.roi_align"]
_roi_align = _module._roi_align.__wrapped__
_clamped = _module._bilinear_interpolate


def _interpolated(image, picture, y, x, ymask, xmask):
    height, width = image.shape[2:]
    inside_y, inside_x = (y >= -1) & (y <= height), (x >= -1) & (x <= width)
    return _clamped(image, picture, y, x, ymask, xmask) * (
        inside_y[:, None, :, None, :, None] & inside_x[:, None, None, :, None, :])


_module._bilinear_interpolate = _interpolated
poolers.roi_align = lambda x, boxes, output_size, spatial_scale, sampling_ratio: _roi_align(
    x, boxes, spatial_scale, *output_size, sampling_ratio, False)


class MiniBody(retinanet.MiniBody):
    def forward(self, x):
        x = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        out = OrderedDict()
        for stage in range(4):
            x = self.get_submodule(f"layer{stage + 1}")(x)
            out[str(stage)] = x
        return out


class Backbone(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.body = MiniBody(norm)
        self.fpn = FeaturePyramidNetwork([32, 64, 128, 128], NARROW)
        self.out_channels = NARROW

    def forward(self, x):
        return self.fpn(self.body(x))


def make(network, classes, norm):
    if network == "fasterrcnn_r50":
        body = resnet50(norm_layer=lambda channels: norm(channels, 1e-5))
        return FasterRCNN(_resnet_fpn_extractor(body, 5), classes + 1)
    anchors = AnchorGenerator(tuple((BASES[network] << level,) for level in range(4)),
                              ((0.5, 1.0, 2.0),) * 4)
    return FasterRCNN(Backbone(norm), rpn_anchor_generator=anchors,
                      box_roi_pool=MultiScaleRoIAlign(["0", "1", "2", "3"], BINS, 2),
                      box_head=TwoMLPHead(NARROW * BINS * BINS, HIDDEN),
                      box_predictor=FastRCNNPredictor(HIDDEN, classes + 1), **PROPOSED)


def is_dense(name):
    return name.startswith("roi_heads.") and name.endswith("/kernel")


def our_shape(name, shape):
    return (shape[1], shape[0]) if is_dense(name) else shape


def to_torch(name, value):
    """Our weight [in][out] as torchvision's [out][in]; others as they are."""
    if not is_dense(name):
        return value
    if name.endswith("fc6/kernel"):
        bins = value.reshape(BINS, BINS, -1, value.shape[1])
        return np.ascontiguousarray(bins.transpose(3, 2, 0, 1)).reshape(value.shape[1], -1)
    return np.ascontiguousarray(value.T)


def to_ours(name, value):
    if not is_dense(name):
        return value
    if name.endswith("fc6/kernel"):
        bins = value.reshape(value.shape[0], -1, BINS, BINS)
        return np.ascontiguousarray(bins.transpose(2, 3, 1, 0)).reshape(-1, value.shape[0])
    return np.ascontiguousarray(value.T)


def ours(network, module):
    """The name of our layer."""
    return module
