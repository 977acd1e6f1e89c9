"""Small files as Keras 3 writes them, for tests/interop/keras_files_test.cpp.

    python make_keras_files.py ../../tests/golden/interop

Weight number k of model.weights holds k, k + 1/1024, k + 2/1024, ...
"""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import h5py
import keras
import numpy as np
from keras import layers
from keras.src.legacy.saving import legacy_h5_format

FOLDER = pathlib.Path(sys.argv[1])


def network():
    image = keras.Input((6, 6, 3))
    x = layers.Conv2D(2, 3, use_bias=False, name="stem")(image)
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.DepthwiseConv2D(3, use_bias=False, name="deep")(x)
    x = layers.SeparableConv2D(5, 1, name="apart")(x)
    inner = keras.Sequential([keras.Input((2, 2, 5)), layers.Conv2D(2, 1, name="first"),
                              layers.Conv2D(3, 1, name="second")], name="inner")
    x = layers.GlobalAveragePooling2D(name="pool")(inner(x))
    return keras.Model(image, layers.Dense(2, name="head")(x), name="tiny")


def number(variables):
    for k, variable in enumerate(variables):
        count = int(np.prod(variable.shape))
        values = k + np.arange(count) / 1024
        variable.assign(values.reshape(variable.shape).astype(variable.dtype))


def mlp(name):
    return keras.Sequential([keras.Input((4,)), layers.Dense(3, name="a"),
                             layers.Dense(2, name="b")], name=name)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    model = network()
    number(model.weights)
    model.save(FOLDER / "tiny.keras")
    model.save(FOLDER / "tiny.h5")
    model.save_weights(FOLDER / "tiny.weights.h5")

    for name, optimizer in [("adam", keras.optimizers.Adam()),
                            ("sgd", keras.optimizers.SGD(momentum=0.9)),
                            ("rmsprop", keras.optimizers.RMSprop(momentum=0.5))]:
        trained = mlp(name)
        trained.compile(optimizer, "mse")
        trained.fit(np.ones((8, 4)), np.ones((8, 2)), batch_size=2, verbose=0)
        number(trained.weights)
        number(optimizer.variables[2:])
        trained.save(FOLDER / f"{name}.keras")
        trained.save(FOLDER / f"{name}.h5")

    # As keras.applications.EfficientNet has it: what is subtracted is among the weights.
    image = keras.Input((4, 4, 3))
    norm = layers.Normalization(name="norm")
    x = layers.Rescaling([1 / 0.229**0.5, 1 / 0.224**0.5, 1 / 0.225**0.5])(norm(layers.Rescaling(1 / 255)(image)))
    x = layers.Dense(2, name="head")(layers.GlobalAveragePooling2D()(layers.Conv2D(2, 1, name="conv")(x)))
    prepared = keras.Model(image, x, name="prepared")
    norm.mean = norm.variance = None
    norm.adapt_mean.assign([0.485, 0.456, 0.406])
    norm.adapt_variance.assign([0.229, 0.224, 0.225])
    norm.finalize_state()
    prepared.save(FOLDER / "prepared.keras")
    prepared.save(FOLDER / "prepared.h5")
    prepared.save_weights(FOLDER / "prepared.weights.h5")

    plain = mlp("plain")
    number(plain.weights)
    with h5py.File(FOLDER / "plain_legacy_weights.h5", "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, plain)
    # Keras 2.13's name of the group.
    plain.save_weights(FOLDER / "plain_2_13.weights.h5")
    with h5py.File(FOLDER / "plain_2_13.weights.h5", "a") as file:
        file.move("layers", "_layer_checkpoint_dependencies")
    keras.config.set_dtype_policy("bfloat16")
    short = mlp("short")
    number(short.weights)
    short.save_weights(FOLDER / "bfloat16.weights.h5")
    # What is refused.
    with h5py.File(FOLDER / "chunked.h5", "w") as file:
        file.create_dataset("x", data=np.zeros(64), chunks=(8,))
    with h5py.File(FOLDER / "compressed.h5", "w") as file:
        file.create_dataset("x", data=np.zeros(64), compression="gzip")
    with h5py.File(FOLDER / "latest.h5", "w", libver="latest") as file:
        file.create_dataset("x", data=np.zeros(4))
    with h5py.File(FOLDER / "soft_link.h5", "w") as file:
        file["x"] = h5py.SoftLink("/elsewhere")
    with h5py.File(FOLDER / "external_link.h5", "w") as file:
        file["x"] = h5py.ExternalLink("other.h5", "/x")
    with h5py.File(FOLDER / "cycle.h5", "w") as file:
        inner = file.create_group("a/b")
        inner["up"] = file["a"]
    with h5py.File(FOLDER / "unwritten.h5", "w") as file:
        file.create_dataset("x", (3, 5), dtype="f4")
        file.create_dataset("f16", data=np.arange(3, dtype="f2"))
        file.create_dataset("i8", data=np.arange(-1, 2, dtype="i1"))
        file.create_dataset("scalar", data=7)
        file.create_dataset("big_endian", data=np.arange(3, dtype=">f4"))
        file.create_dataset("text", data="no number")
        file.attrs["fixed"] = np.array([b"one", b"three"])
        file.attrs["variable"] = ["zwei", "drei"]
        file.attrs["one"] = "text"
        file.attrs["numbers"] = np.array([-1, 2], dtype="i2")
        file.attrs["real"] = 0.5
        file.attrs["empty"] = np.zeros(0)
    with h5py.File(FOLDER / "many.h5", "w") as file:
        for i in range(40):
            file.create_group(f"many/g{i:02}")


if __name__ == "__main__":
    main()
