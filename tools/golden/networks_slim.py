"""Networks as TF-Slim defines them, with its names of variables, written from its published definitions
with TensorFlow's own operations: inference only, without auxiliary classifiers."""

import tensorflow.compat.v1 as tf

SCOPE = tf.variable_scope


def variable(name, shape, low, high):
    return tf.get_variable(name, shape, initializer=tf.random_uniform_initializer(low, high, seed=len(tf.global_variables())))


def batch_norm(x, epsilon, scale):
    with SCOPE("BatchNorm"):
        n = [x.shape[-1]]
        gamma = variable("gamma", n, 0.9, 1.1) if scale else tf.ones(n)
        beta = variable("beta", n, -0.1, 0.1)
        mean = variable("moving_mean", n, -0.1, 0.1)
        spread = variable("moving_variance", n, 0.8, 1.2)
    return (x - mean) * gamma / tf.sqrt(spread + epsilon) + beta


def kernel(name, shape, fan_in):
    limit = (6 / fan_in) ** 0.5
    return variable(name, shape, -limit, limit)


def conv(x, filters, size, scope, stride=1, padding="SAME", norm=(1e-3, False), activation=tf.nn.relu):
    height, width = (size, size) if isinstance(size, int) else size
    channels = int(x.shape[-1])
    with SCOPE(scope):
        x = tf.nn.conv2d(x, kernel("weights", [height, width, channels, filters], height * width * channels),
                         stride, padding)
        x = batch_norm(x, *norm) if norm else x + variable("biases", [filters], -0.1, 0.1)
    return activation(x) if activation else x


def max_pool(x, size=3, stride=2, padding="VALID"):
    return tf.nn.max_pool2d(x, size, stride, padding)


def average(x):
    return tf.nn.avg_pool2d(x, 3, 1, "SAME")


def stem(x):
    x = conv(x, 32, 3, "Conv2d_1a_3x3", 2, "VALID")
    x = conv(x, 32, 3, "Conv2d_2a_3x3", padding="VALID")
    x = max_pool(conv(x, 64, 3, "Conv2d_2b_3x3"))
    x = conv(x, 80, 1, "Conv2d_3b_1x1", padding="VALID")
    return max_pool(conv(x, 192, 3, "Conv2d_4a_3x3", padding="VALID"))


def chain(x, scope, *layers):
    """Convolutions after each other: (filters, size, name[, stride, padding])."""
    with SCOPE(scope):
        for filters, size, name, *rest in layers:
            x = conv(x, filters, size, name, *rest)
    return x


def logits(x, classes, scope, inner):
    x = tf.reduce_mean(x, [1, 2], keepdims=True)
    with SCOPE(scope):
        x = conv(x, classes, 1, inner, norm=None, activation=None)
    return tf.squeeze(x, [1, 2])


def inception_v3(x, classes):
    with SCOPE("InceptionV3"):
        x = stem(x)
        for block, pool in (("Mixed_5b", 32), ("Mixed_5c", 64), ("Mixed_5d", 64)):
            odd = block == "Mixed_5c"
            with SCOPE(block):
                x = tf.concat([
                    chain(x, "Branch_0", (64, 1, "Conv2d_0a_1x1")),
                    chain(x, "Branch_1", (48, 1, "Conv2d_0b_1x1" if odd else "Conv2d_0a_1x1"),
                          (64, 5, "Conv_1_0c_5x5" if odd else "Conv2d_0b_5x5")),
                    chain(x, "Branch_2", (64, 1, "Conv2d_0a_1x1"), (96, 3, "Conv2d_0b_3x3"), (96, 3, "Conv2d_0c_3x3")),
                    chain(average(x), "Branch_3", (pool, 1, "Conv2d_0b_1x1")),
                ], 3)
        with SCOPE("Mixed_6a"):
            x = tf.concat([
                chain(x, "Branch_0", (384, 3, "Conv2d_1a_1x1", 2, "VALID")),
                chain(x, "Branch_1", (64, 1, "Conv2d_0a_1x1"), (96, 3, "Conv2d_0b_3x3"),
                      (96, 3, "Conv2d_1a_1x1", 2, "VALID")),
                max_pool(x),
            ], 3)
        for block, m in (("Mixed_6b", 128), ("Mixed_6c", 160), ("Mixed_6d", 160), ("Mixed_6e", 192)):
            with SCOPE(block):
                x = tf.concat([
                    chain(x, "Branch_0", (192, 1, "Conv2d_0a_1x1")),
                    chain(x, "Branch_1", (m, 1, "Conv2d_0a_1x1"), (m, (1, 7), "Conv2d_0b_1x7"),
                          (192, (7, 1), "Conv2d_0c_7x1")),
                    chain(x, "Branch_2", (m, 1, "Conv2d_0a_1x1"), (m, (7, 1), "Conv2d_0b_7x1"),
                          (m, (1, 7), "Conv2d_0c_1x7"), (m, (7, 1), "Conv2d_0d_7x1"), (192, (1, 7), "Conv2d_0e_1x7")),
                    chain(average(x), "Branch_3", (192, 1, "Conv2d_0b_1x1")),
                ], 3)
        with SCOPE("Mixed_7a"):
            x = tf.concat([
                chain(x, "Branch_0", (192, 1, "Conv2d_0a_1x1"), (320, 3, "Conv2d_1a_3x3", 2, "VALID")),
                chain(x, "Branch_1", (192, 1, "Conv2d_0a_1x1"), (192, (1, 7), "Conv2d_0b_1x7"),
                      (192, (7, 1), "Conv2d_0c_7x1"), (192, 3, "Conv2d_1a_3x3", 2, "VALID")),
                max_pool(x),
            ], 3)
        for block in ("Mixed_7b", "Mixed_7c"):
            with SCOPE(block):
                first = chain(x, "Branch_0", (320, 1, "Conv2d_0a_1x1"))
                second = chain(x, "Branch_1", (384, 1, "Conv2d_0a_1x1"))
                column = "Conv2d_0b_3x1" if block == "Mixed_7b" else "Conv2d_0c_3x1"
                second = tf.concat([chain(second, "Branch_1", (384, (1, 3), "Conv2d_0b_1x3")),
                                    chain(second, "Branch_1", (384, (3, 1), column))], 3)
                third = chain(x, "Branch_2", (448, 1, "Conv2d_0a_1x1"), (384, 3, "Conv2d_0b_3x3"))
                third = tf.concat([chain(third, "Branch_2", (384, (1, 3), "Conv2d_0c_1x3")),
                                   chain(third, "Branch_2", (384, (3, 1), "Conv2d_0d_3x1"))], 3)
                x = tf.concat([first, second, third, chain(average(x), "Branch_3", (192, 1, "Conv2d_0b_1x1"))], 3)
        return logits(x, classes, "Logits", "Conv2d_1c_1x1")


def residual(x, branches, factor, activation=tf.nn.relu):
    up = conv(tf.concat(branches, 3), int(x.shape[-1]), 1, "Conv2d_1x1", norm=None, activation=None)
    x = x + factor * up
    return activation(x) if activation else x


def inception_resnet_v2(x, classes):
    def block8(x, activation=tf.nn.relu):
        return residual(x, [
            chain(x, "Branch_0", (192, 1, "Conv2d_1x1")),
            chain(x, "Branch_1", (192, 1, "Conv2d_0a_1x1"), (224, (1, 3), "Conv2d_0b_1x3"),
                  (256, (3, 1), "Conv2d_0c_3x1")),
        ], 0.2 if activation else 1.0, activation)

    with SCOPE("InceptionResnetV2"):
        x = stem(x)
        with SCOPE("Mixed_5b"):
            x = tf.concat([
                chain(x, "Branch_0", (96, 1, "Conv2d_1x1")),
                chain(x, "Branch_1", (48, 1, "Conv2d_0a_1x1"), (64, 5, "Conv2d_0b_5x5")),
                chain(x, "Branch_2", (64, 1, "Conv2d_0a_1x1"), (96, 3, "Conv2d_0b_3x3"), (96, 3, "Conv2d_0c_3x3")),
                chain(average(x), "Branch_3", (64, 1, "Conv2d_0b_1x1")),
            ], 3)
        for i in range(1, 11):
            with SCOPE(f"Repeat/block35_{i}"):
                x = residual(x, [
                    chain(x, "Branch_0", (32, 1, "Conv2d_1x1")),
                    chain(x, "Branch_1", (32, 1, "Conv2d_0a_1x1"), (32, 3, "Conv2d_0b_3x3")),
                    chain(x, "Branch_2", (32, 1, "Conv2d_0a_1x1"), (48, 3, "Conv2d_0b_3x3"), (64, 3, "Conv2d_0c_3x3")),
                ], 0.17)
        with SCOPE("Mixed_6a"):
            x = tf.concat([
                chain(x, "Branch_0", (384, 3, "Conv2d_1a_3x3", 2, "VALID")),
                chain(x, "Branch_1", (256, 1, "Conv2d_0a_1x1"), (256, 3, "Conv2d_0b_3x3"),
                      (384, 3, "Conv2d_1a_3x3", 2, "VALID")),
                max_pool(x),
            ], 3)
        for i in range(1, 21):
            with SCOPE(f"Repeat_1/block17_{i}"):
                x = residual(x, [
                    chain(x, "Branch_0", (192, 1, "Conv2d_1x1")),
                    chain(x, "Branch_1", (128, 1, "Conv2d_0a_1x1"), (160, (1, 7), "Conv2d_0b_1x7"),
                          (192, (7, 1), "Conv2d_0c_7x1")),
                ], 0.10)
        with SCOPE("Mixed_7a"):
            x = tf.concat([
                chain(x, "Branch_0", (256, 1, "Conv2d_0a_1x1"), (384, 3, "Conv2d_1a_3x3", 2, "VALID")),
                chain(x, "Branch_1", (256, 1, "Conv2d_0a_1x1"), (288, 3, "Conv2d_1a_3x3", 2, "VALID")),
                chain(x, "Branch_2", (256, 1, "Conv2d_0a_1x1"), (288, 3, "Conv2d_0b_3x3"),
                      (320, 3, "Conv2d_1a_3x3", 2, "VALID")),
                max_pool(x),
            ], 3)
        for i in range(1, 10):
            with SCOPE(f"Repeat_2/block8_{i}"):
                x = block8(x)
        with SCOPE("Block8"):
            x = block8(x, None)
        x = tf.reduce_mean(conv(x, 1536, 1, "Conv2d_7b_1x1"), [1, 2])
        with SCOPE("Logits/Logits"):
            return x @ kernel("weights", [1536, classes], 1536) + variable("biases", [classes], -0.1, 0.1)


def mobilenet_v1(x, classes):
    norm = (1e-3, True)
    widths = (64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024)
    with SCOPE("MobilenetV1"):
        x = conv(x, 32, 3, "Conv2d_0", 2, norm=norm, activation=tf.nn.relu6)
        for i, filters in enumerate(widths, 1):
            with SCOPE(f"Conv2d_{i}_depthwise"):
                stride = 2 if i in (2, 4, 6, 12) else 1
                x = tf.nn.depthwise_conv2d(x, kernel("depthwise_weights", [3, 3, int(x.shape[-1]), 1], 9),
                                           [1, stride, stride, 1], "SAME")
                x = tf.nn.relu6(batch_norm(x, *norm))
            x = conv(x, filters, 1, f"Conv2d_{i}_pointwise", norm=norm, activation=tf.nn.relu6)
        return logits(x, classes, "Logits", "Conv2d_1c_1x1")


def resnet_v1_50(x, classes):
    norm = (1e-5, True)

    def padded(x, filters, size, scope, stride, activation=tf.nn.relu):
        """conv2d_same: as much on either side, whatever the stride."""
        if stride > 1 and size > 1:
            before = (size - 1) // 2
            after = size - 1 - before
            x = tf.pad(x, [[0, 0], [before, after], [before, after], [0, 0]])
            return conv(x, filters, size, scope, stride, "VALID", norm, activation)
        return conv(x, filters, size, scope, stride, "SAME", norm, activation)

    with SCOPE("resnet_v1_50"):
        x = max_pool(padded(x, 64, 7, "conv1", 2), padding="SAME")
        for number, (filters, units, stride) in enumerate(((64, 3, 2), (128, 4, 2), (256, 6, 2), (512, 3, 1)), 1):
            for unit in range(1, units + 1):
                step = stride if unit == units else 1
                with SCOPE(f"block{number}/unit_{unit}/bottleneck_v1"):
                    if unit == 1:
                        shortcut = padded(x, 4 * filters, 1, "shortcut", step, None)
                    else:
                        shortcut = max_pool(x, 1, step) if step > 1 else x
                    y = padded(x, filters, 1, "conv1", 1)
                    y = padded(y, filters, 3, "conv2", step)
                    y = padded(y, 4 * filters, 1, "conv3", 1, None)
                x = tf.nn.relu(shortcut + y)
        x = tf.reduce_mean(x, [1, 2], keepdims=True)
        return tf.squeeze(conv(x, classes, 1, "logits", norm=None, activation=None), [1, 2])


# Side of a picture, classes, preprocessing, definition.
NETWORKS = {
    "inception_v3": (299, 1001, "tf", inception_v3),
    "inception_resnet_v2": (299, 1001, "tf", inception_resnet_v2),
    "mobilenet_v1": (224, 1001, "tf", mobilenet_v1),
    "resnet_v1_50": (224, 1000, "slim", resnet_v1_50),
}
