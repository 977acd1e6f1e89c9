"""The rule that fills weights, images and labels from their names alone.

Every number is a hash of (name, index), so the C++ tests and these scripts make the
same tensors without sharing a file. Indices are row-major in the logical layout:
convolution kernels [Cout][Cin][kh][kw], depthwise kernels [C][1][kh][kw],
dense kernels [in][out], images [N][C][H][W].

Run `python rule.py` to print the first values of a few names, to compare by eye.
"""

import math

import numpy as np

TEXT = (
    "h = fnv1a64(name); x = splitmix64_finalizer(h + (i+1)*0x9E3779B97F4A7C15); "
    "r = 2*((x>>40)*2^-24) - 1; "
    "kernel (conv, pointwise, dense): r*sqrt(6/fan_in); depthwise kernel: r*sqrt(6/(kh*kw)); "
    "bias: 0.1*r; gamma: 1+0.1*r; beta: B+0.1*r, where B is the field beta of this file; "
    "moving_mean: 0; moving_variance: 1; image: r; label: (x>>40) % classes; "
    "each value rounded once to float32"
)


def fnv1a64(name):
    """The 64-bit FNV-1a hash of the UTF-8 bytes of `name`."""
    value = 14695981039346656037
    for byte in name.encode("utf-8"):
        value = ((value ^ byte) * 1099511628211) % 2**64
    return value


def bits(name, count):
    """The upper 24 bits of the hash of elements 0 .. count-1 of `name`."""
    step = np.uint64(0x9E3779B97F4A7C15)
    x = np.uint64(fnv1a64(name)) + np.arange(1, count + 1, dtype=np.uint64) * step
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return x >> np.uint64(40)


def uniform(name, shape):
    """Values in [-1, 1), exact in float32, held as float64."""
    count = math.prod(shape)
    return (2.0 * (bits(name, count).astype(np.float64) * 2.0**-24) - 1.0).reshape(shape)


def parameter(name, shape, beta):
    """The float32 value of parameter `name` ("layer/weight"), `shape` in the logical layout.
    `beta` is what the betas of batch normalization lie around."""
    weight = name.rsplit("/", 1)[1]
    if weight == "moving_mean":
        return np.zeros(shape, np.float32)
    if weight == "moving_variance":
        return np.ones(shape, np.float32)
    r = uniform(name, shape)
    if weight.endswith("kernel"):
        # A depthwise kernel has one input channel per filter, so its fan-in is kh*kw.
        fan_in = shape[0] if len(shape) == 2 else math.prod(shape[1:])
        value = r * math.sqrt(6.0 / fan_in)
    elif weight == "gamma":
        value = 1.0 + 0.1 * r
    elif weight == "beta":
        value = beta + 0.1 * r
    elif weight == "bias":
        value = 0.1 * r
    else:
        raise ValueError(f"no rule for the weight of {name}")
    return value.astype(np.float32)


def images(shape):
    """A batch of images in [N][C][H][W]."""
    return uniform("image", shape).astype(np.float32)


def labels(count, classes):
    """The class of each image of the batch."""
    return (bits("label", count) % np.uint64(classes)).astype(np.int32)


if __name__ == "__main__":
    for example in ("conv2d/kernel", "predictions/bias", "image"):
        print(example, hex(fnv1a64(example)), uniform(example, (4,)).tolist())
    print("label", labels(8, 10).tolist())
