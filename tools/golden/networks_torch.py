"""Plimsoll's own networks in PyTorch, written apart from the Keras ones to check them.

A network is a function of a `Graph`, which makes parameters by the rule on their first use
and keeps them in the logical layout. `same` padding is that of Keras: the odd row or column
goes to the bottom or right.
"""

import math

import torch
import torch.nn.functional as F

import rule


def pad_same(x, size, stride, value=0.0):
    """Pads height and width so that the output has ceil(input / stride) rows and columns."""
    amounts = []
    for extent in (x.shape[3], x.shape[2]):
        total = max((math.ceil(extent / stride) - 1) * stride + size - extent, 0)
        amounts += [total // 2, total - total // 2]
    return F.pad(x, amounts, value=value)


def max_pool(x, stride):
    return F.max_pool2d(pad_same(x, 3, stride, -math.inf), 3, stride)


class Graph:
    """The parameters of a network by name, and the layers that use them."""

    EPSILON = 1e-3
    MOMENTUM = 0.99

    def __init__(self, beta):
        self.beta = beta
        self.parameters = {}
        self.moving = {}

    def parameter(self, name, *shape):
        if name not in self.parameters:
            value = torch.from_numpy(rule.parameter(name, shape, self.beta)).double()
            self.parameters[name] = value.requires_grad_()
        return self.parameters[name]

    def normalize(self, x, name):
        """Batch normalization in training mode; the moving statistics start at 0 and 1."""
        channels = x.shape[1]
        gamma = self.parameter(name + "/gamma", channels)
        beta = self.parameter(name + "/beta", channels)
        if name + "/moving_mean" not in self.moving:
            data = x.detach()
            mean, variance = data.mean((0, 2, 3)), data.var((0, 2, 3), correction=0)
            self.moving[name + "/moving_mean"] = (1 - self.MOMENTUM) * mean
            self.moving[name + "/moving_variance"] = (
                self.MOMENTUM + (1 - self.MOMENTUM) * variance
            )
        return F.batch_norm(x, None, None, gamma, beta, training=True, eps=self.EPSILON)

    def convolution(self, x, name, filters, size, stride=1, relu=True):
        kernel = self.parameter(name + "/kernel", filters, x.shape[1], size, size)
        x = F.conv2d(pad_same(x, size, stride), kernel, stride=stride)
        x = self.normalize(x, name + "_bn")
        return F.relu(x) if relu else x

    def separable(self, x, name, filters):
        channels = x.shape[1]
        depthwise = self.parameter(name + "/depthwise_kernel", channels, 1, 3, 3)
        pointwise = self.parameter(name + "/pointwise_kernel", filters, channels, 1, 1)
        x = F.conv2d(F.conv2d(x, depthwise, padding=1, groups=channels), pointwise)
        return self.normalize(x, name + "_bn")

    def head(self, x, classes):
        x = x.mean((2, 3))
        kernel = self.parameter("predictions/kernel", x.shape[1], classes)
        return x @ kernel + self.parameter("predictions/bias", classes)

    def inception_block(self, x, name, a, rb, b, rc, c, p):
        one = self.convolution(x, name + "_1x1", a, 1)
        three = self.convolution(x, name + "_3x3_reduce", rb, 1)
        three = self.convolution(three, name + "_3x3", b, 3)
        five = self.convolution(x, name + "_5x5_reduce", rc, 1)
        five = self.convolution(five, name + "_5x5", c, 5)
        pool = self.convolution(max_pool(x, 1), name + "_pool_proj", p, 1)
        return torch.cat([one, three, five, pool], 1)


def googlenet(g, x, classes):
    x = max_pool(g.convolution(x, "conv1_7x7", 64, 7, 2), 2)
    x = g.convolution(x, "conv2_reduce", 64, 1)
    x = max_pool(g.convolution(x, "conv2_3x3", 192, 3), 2)
    x = g.inception_block(x, "3a", 64, 96, 128, 16, 32, 32)
    x = g.inception_block(x, "3b", 128, 128, 192, 32, 96, 64)
    x = max_pool(x, 2)
    x = g.inception_block(x, "4a", 192, 96, 208, 16, 48, 64)
    x = g.inception_block(x, "4b", 160, 112, 224, 24, 64, 64)
    x = g.inception_block(x, "4c", 128, 128, 256, 24, 64, 64)
    x = g.inception_block(x, "4d", 112, 144, 288, 32, 64, 64)
    x = g.inception_block(x, "4e", 256, 160, 320, 32, 128, 128)
    x = max_pool(x, 2)
    x = g.inception_block(x, "5a", 256, 160, 320, 32, 128, 128)
    x = g.inception_block(x, "5b", 384, 192, 384, 48, 128, 128)
    return g.head(x, classes)


def inception_mini(g, x, classes):
    x = max_pool(g.convolution(x, "conv1", 32, 3), 2)
    x = g.inception_block(x, "a", 32, 32, 48, 8, 16, 16)
    x = g.inception_block(x, "b", 48, 48, 64, 16, 32, 32)
    x = max_pool(x, 2)
    x = g.inception_block(x, "c", 64, 64, 96, 16, 48, 48)
    return g.head(x, classes)


def xception_mini(g, x, classes):
    x = g.convolution(x, "block1_conv1", 16, 3, 2)
    x = g.convolution(x, "block1_conv2", 32, 3)

    residual = g.convolution(x, "block2_residual", 64, 1, 2, relu=False)
    x = F.relu(g.separable(x, "block2_sepconv1", 64))
    x = max_pool(g.separable(x, "block2_sepconv2", 64), 2) + residual

    residual = g.convolution(x, "block3_residual", 128, 1, 2, relu=False)
    x = F.relu(g.separable(F.relu(x), "block3_sepconv1", 128))
    x = max_pool(g.separable(x, "block3_sepconv2", 128), 2) + residual

    for block in ("block4", "block5"):
        y = g.separable(F.relu(x), block + "_sepconv1", 128)
        y = g.separable(F.relu(y), block + "_sepconv2", 128)
        x = x + g.separable(F.relu(y), block + "_sepconv3", 128)

    x = F.relu(g.separable(x, "block6_sepconv1", 256))
    return g.head(x, classes)


def resnet20(g, x, classes):
    x = g.convolution(x, "conv1", 16, 3)
    for stage in (1, 2, 3):
        width = 8 * 2**stage
        for block in (1, 2, 3):
            name = f"s{stage}b{block}_"
            stride = 2 if stage > 1 and block == 1 else 1
            y = g.convolution(x, name + "conv1", width, 3, stride)
            y = g.convolution(y, name + "conv2", width, 3, relu=False)
            if stride == 2:
                x = g.convolution(x, name + "shortcut", width, 1, 2, relu=False)
            x = F.relu(x + y)
    return g.head(x, classes)


NETWORKS = {
    "inception_mini": inception_mini,
    "resnet20": resnet20,
    "xception_mini": xception_mini,
    "googlenet": googlenet,
}
