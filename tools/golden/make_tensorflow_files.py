"""Small checkpoints by TensorFlow in both formats: tests/golden/tensorflow.

    python tools/golden/make_tensorflow_files.py

Variables count up from their number, so that a test knows their elements; `flat` is constant, so
that Snappy packs it.
"""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as tf

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "tensorflow"


def counting(number, shape, dtype=np.float32):
    return (np.arange(np.prod(shape, dtype=int)) + number).astype(dtype).reshape(shape)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    tf.disable_eager_execution()
    values = {
        "Net/Conv2d_1a/weights": counting(0, (2, 2, 3, 4)),
        "Net/Conv2d_1a/BatchNorm/beta": counting(1, (4,)),
        "Net/Conv2d_1a/weights/Momentum": counting(2, (2, 2, 3, 4)),
        "double": counting(3, (3,), np.float64),
        "flat": np.full((40, 20), 0.5, np.float32),
        "global_step": np.int64(1234567890123),
        "small": counting(-2, (3,), np.int32),
        "none": np.zeros((0, 3), np.float32),
    }
    variables = [tf.Variable(value, name=name, use_resource=False) for name, value in values.items()]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for name, version in (("v1.ckpt", 1), ("v2.ckpt", 2)):
            saver = tf.train.Saver(variables, write_version=version)
            saver.save(session, str(FOLDER / name), write_meta_graph=False, write_state=False)
    part = tf.get_variable(
        "sliced", (4, 2), initializer=tf.zeros_initializer, use_resource=False,
        partitioner=tf.fixed_size_partitioner(2),
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for name, version in (("sliced1.ckpt", 1), ("sliced2.ckpt", 2)):
            saver = tf.train.Saver(list(part), write_version=version)
            saver.save(session, str(FOLDER / name), write_meta_graph=False, write_state=False)


main()
