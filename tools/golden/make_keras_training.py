"""A network with an Inception block as a user would write it, trained three steps by Keras with each optimizer and
saved: tests/golden/interop/goes_on_*.keras. Then five steps more: losses in tests/golden/keras_training.json.

    python tools/golden/make_keras_training.py

Images and labels are the rule's; one batch.
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
from keras import layers

import rule

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
BATCH, IMAGE, CLASSES = 8, (3, 16, 16), 5
OPTIMIZERS = {
    "sgd": (keras.optimizers.SGD, 0.02, {"momentum": 0.9}),
    "adam": (keras.optimizers.Adam, 0.004, {}),
    "rmsprop": (keras.optimizers.RMSprop, 0.001, {"momentum": 0.5}),
}


def conv(x, filters, size, name, **options):
    x = layers.Conv2D(filters, size, padding="same", use_bias=False, name=name, **options)(x)
    return layers.ReLU(name=name + "_on")(layers.BatchNormalization(name=name + "_norm")(x))


def network():
    channels, height, width = IMAGE
    photo = keras.Input((height, width, channels), name="photo")
    x = conv(photo, 8, 3, "entry", strides=2)
    one = conv(x, 4, 1, "one")
    three = conv(conv(x, 4, 1, "three_reduce"), 6, 3, "three")
    five = conv(conv(x, 2, 1, "five_reduce"), 4, 5, "five")
    pool = conv(layers.MaxPooling2D(3, 1, "same", name="pool")(x), 2, 1, "pool_project")
    x = layers.Concatenate(name="together")([one, three, five, pool])
    x = layers.GlobalAveragePooling2D(name="mean")(x)
    return keras.Model(photo, layers.Dense(CLASSES, activation="softmax", name="flower")(x), name="my_inception")


def main():
    images = rule.images((BATCH, *IMAGE)).transpose(0, 2, 3, 1)
    labels = np.asarray(rule.labels(BATCH, CLASSES))
    content = {"batch": BATCH, "image": list(IMAGE), "classes": CLASSES, "steps_before": 3}
    for name, (make, rate, more) in OPTIMIZERS.items():
        keras.utils.set_random_seed(1)
        model = network()
        model.compile(make(rate, **more), "sparse_categorical_crossentropy")
        before = [float(model.train_on_batch(images, labels)) for _ in range(3)]
        model.save(FOLDER / "interop" / f"goes_on_{name}.keras")
        # Of a batch: train_on_batch gives the mean over those since the start.
        losses = []
        for _ in range(5):
            model.reset_metrics()
            losses.append(float(model.train_on_batch(images, labels)))
        content[name] = {"lr": rate, "momentum": more.get("momentum", 0.0), "losses": losses}
        print(name, before, losses)
    (FOLDER / "keras_training.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
