"""The networks in Keras: those of keras.applications, and Plimsoll's own.

`build(network, image, classes)` gives a model without softmax, with random weights that
the caller replaces. `image` is [C, H, W]; Keras runs channels last. Layer names are those
of a fresh Keras session, because the rule fills weights by name.
"""

import math

import keras
from keras import applications, layers


def convolution(x, name, filters, size, stride=1, relu=True):
    """Convolution without bias, `same` padding, batch normalization and, mostly, relu."""
    x = layers.Conv2D(filters, size, stride, padding="same", use_bias=False, name=name)(x)
    x = layers.BatchNormalization(name=name + "_bn")(x)
    return layers.ReLU(name=name + "_relu")(x) if relu else x


def separable(x, name, filters):
    """Separable 3x3 convolution without bias and its batch normalization."""
    x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return layers.BatchNormalization(name=name + "_bn")(x)


def max_pool(x, stride):
    return layers.MaxPooling2D(3, stride, padding="same")(x)


def head(x, classes):
    x = layers.GlobalAveragePooling2D()(x)
    return layers.Dense(classes, name="predictions")(x)


def inception_block(x, name, a, rb, b, rc, c, p):
    """The block of GoogLeNet: 1x1 | 1x1, 3x3 | 1x1, 5x5 | max pool, 1x1."""
    one = convolution(x, name + "_1x1", a, 1)
    three = convolution(convolution(x, name + "_3x3_reduce", rb, 1), name + "_3x3", b, 3)
    five = convolution(convolution(x, name + "_5x5_reduce", rc, 1), name + "_5x5", c, 5)
    pool = convolution(max_pool(x, 1), name + "_pool_proj", p, 1)
    return layers.Concatenate()([one, three, five, pool])


def googlenet(x, classes):
    x = max_pool(convolution(x, "conv1_7x7", 64, 7, 2), 2)
    x = convolution(x, "conv2_reduce", 64, 1)
    x = max_pool(convolution(x, "conv2_3x3", 192, 3), 2)
    x = inception_block(x, "3a", 64, 96, 128, 16, 32, 32)
    x = inception_block(x, "3b", 128, 128, 192, 32, 96, 64)
    x = max_pool(x, 2)
    x = inception_block(x, "4a", 192, 96, 208, 16, 48, 64)
    x = inception_block(x, "4b", 160, 112, 224, 24, 64, 64)
    x = inception_block(x, "4c", 128, 128, 256, 24, 64, 64)
    x = inception_block(x, "4d", 112, 144, 288, 32, 64, 64)
    x = inception_block(x, "4e", 256, 160, 320, 32, 128, 128)
    x = max_pool(x, 2)
    x = inception_block(x, "5a", 256, 160, 320, 32, 128, 128)
    x = inception_block(x, "5b", 384, 192, 384, 48, 128, 128)
    return head(x, classes)


def inception_mini(x, classes):
    x = max_pool(convolution(x, "conv1", 32, 3), 2)
    x = inception_block(x, "a", 32, 32, 48, 8, 16, 16)
    x = inception_block(x, "b", 48, 48, 64, 16, 32, 32)
    x = max_pool(x, 2)
    x = inception_block(x, "c", 64, 64, 96, 16, 48, 48)
    return head(x, classes)


def xception_mini(x, classes):
    x = convolution(x, "block1_conv1", 16, 3, 2)
    x = convolution(x, "block1_conv2", 32, 3)
    for block, width in ((2, 64), (3, 128)):
        name = f"block{block}"
        residual = convolution(x, name + "_residual", width, 1, 2, relu=False)
        if block > 2:
            x = layers.ReLU()(x)
        x = layers.ReLU()(separable(x, name + "_sepconv1", width))
        x = max_pool(separable(x, name + "_sepconv2", width), 2)
        x = layers.Add()([x, residual])
    for block in (4, 5):
        residual = x
        for unit in (1, 2, 3):
            x = separable(layers.ReLU()(x), f"block{block}_sepconv{unit}", 128)
        x = layers.Add()([x, residual])
    x = layers.ReLU()(separable(x, "block6_sepconv1", 256))
    return head(x, classes)


def resnet20(x, classes):
    x = convolution(x, "conv1", 16, 3)
    for stage, width in ((1, 16), (2, 32), (3, 64)):
        for block in (1, 2, 3):
            name = f"s{stage}b{block}"
            down = stage > 1 and block == 1
            shortcut = convolution(x, name + "_shortcut", width, 1, 2, relu=False) if down else x
            x = convolution(x, name + "_conv1", width, 3, 2 if down else 1)
            x = convolution(x, name + "_conv2", width, 3, relu=False)
            x = layers.ReLU()(layers.Add()([x, shortcut]))
    return head(x, classes)


def efficientnet_lite(x, classes, width, depth):
    """EfficientNet-Lite by the factors of its width and depth; no squeeze, relu6 everywhere."""

    def norm(x, name, relu6=True):
        x = layers.BatchNormalization(name=name)(x)
        return layers.ReLU(6.0)(x) if relu6 else x

    def pointwise(x, filters, name):
        return layers.Conv2D(filters, 1, use_bias=False, name=name)(x)

    def scaled(filters):
        rounded = max(8, int(filters * width + 4) // 8 * 8)
        return rounded + 8 if rounded < 0.9 * filters * width else rounded

    x = layers.Conv2D(32, 3, 2, padding="same", use_bias=False, name="stem_conv")(x)
    x = norm(x, "stem_bn")
    stages = (
        (1, 3, 1, 1, 16),
        (2, 3, 2, 6, 24),
        (2, 5, 2, 6, 40),
        (3, 3, 2, 6, 80),
        (3, 5, 1, 6, 112),
        (4, 5, 2, 6, 192),
        (1, 3, 1, 6, 320),
    )
    for stage, (repeats, size, stride, expansion, filters) in enumerate(stages, 1):
        if 1 < stage < 7:
            repeats = math.ceil(repeats * depth)
        for block in range(repeats):
            name = f"block{stage}{chr(ord('a') + block)}_"
            step = stride if block == 0 else 1
            before = x
            if expansion > 1:
                x = pointwise(x, expansion * x.shape[-1], name + "expand_conv")
                x = norm(x, name + "expand_bn")
            x = layers.DepthwiseConv2D(
                size, step, padding="same", use_bias=False, name=name + "dwconv"
            )(x)
            x = norm(x, name + "bn")
            x = pointwise(x, scaled(filters), name + "project_conv")
            x = norm(x, name + "project_bn", relu6=False)
            if step == 1 and before.shape[-1] == x.shape[-1]:
                x = layers.Add()([before, x])
    x = norm(pointwise(x, 1280, "top_conv"), "top_bn")
    return head(x, classes)


OWN = {
    "efficientnet_lite0": lambda x, classes: efficientnet_lite(x, classes, 1.0, 1.0),
    "efficientnet_lite1": lambda x, classes: efficientnet_lite(x, classes, 1.0, 1.1),
    "efficientnet_lite2": lambda x, classes: efficientnet_lite(x, classes, 1.1, 1.2),
    "inception_mini": inception_mini,
    "resnet20": resnet20,
    "xception_mini": xception_mini,
    "googlenet": googlenet,
}

APPLICATIONS = {
    "mobilenet_v2": applications.MobileNetV2,
    "resnet50": applications.ResNet50,
    "xception": applications.Xception,
    "inception_v3": applications.InceptionV3,
    "mobilenet": applications.MobileNet,
    "vgg16": applications.VGG16,
    "inception_resnet_v2": applications.InceptionResNetV2,
}


def build(network, image, classes):
    """The Keras model of `network` in the current floatx, named as in a fresh session."""
    keras.backend.clear_session()
    channels, height, width = image
    shape = (height, width, channels)
    if network in OWN:
        x = keras.Input(shape)
        return keras.Model(x, OWN[network](x, classes), name=network)
    options = {"dropout": 0.0} if network == "mobilenet" else {}
    return APPLICATIONS[network](
        weights=None, input_shape=shape, classes=classes, classifier_activation=None, **options
    )
