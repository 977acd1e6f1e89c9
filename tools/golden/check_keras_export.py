"""Loads what our writer made of tests/golden/interop/tiny.keras, and compares all weights.

    PLIMSOLL_KERAS_EXPORT=FOLDER build/tests/plimsoll_tests --gtest_filter='KerasWriter.*'
    python tools/golden/check_keras_export.py tests/golden/interop/tiny.keras FOLDER
"""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np


def main():
    original = keras.models.load_model(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    models = {name: keras.models.load_model(folder / name) for name in ("tiny.keras", "tiny.h5")}
    models["tiny.weights.h5"] = keras.models.model_from_json(original.to_json())
    models["tiny.weights.h5"].load_weights(folder / "tiny.weights.h5")
    image = np.random.default_rng(1).normal(size=(2, 6, 6, 3)).astype("float32")
    for name, model in models.items():
        assert len(model.weights) == len(original.weights), name
        for theirs, ours in zip(original.get_weights(), model.get_weights()):
            assert np.array_equal(theirs, ours), name
        assert np.array_equal(original.predict(image, verbose=0), model.predict(image, verbose=0))
        print(f"{name}: {len(model.weights)} weights are equal")


if __name__ == "__main__":
    main()
