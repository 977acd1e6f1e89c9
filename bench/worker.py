"""Training steps of one network in one framework on demand, in a process of its own.

python worker.py torch|torch_channels_last|torch_compile|torch_checkpoint|tf_graph|tf_xla NETWORK BATCH IMAGE THREADS [bf16]

Prints "ready" after a first step, which compiles and allocates; then, for every line it reads, does a
step and prints its seconds; at the end of its input, a JSON object with its peak resident bytes and the
framework's version. torch_compile is channels_last, compiled; torch_checkpoint recomputes by torch.utils.checkpoint, in about as many segments as
the square root of the network's blocks. bf16: PyTorch's autocast, Keras's mixed_bfloat16.
"""

import json
import os
import resource
import sys
import time


def serve(step):
    step()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        step()
        print(time.perf_counter() - start, flush=True)


def run_torch(network, batch, image, threads, short, channels_last, compiled, checkpointed):
    import torch
    from torch.utils.checkpoint import checkpoint_sequential

    from networks_torch import DETECTORS, NETWORKS, classifier

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    model, images, loss_of = (DETECTORS[network](batch, image) if network in DETECTORS
                              else classifier(NETWORKS[network], batch, image))
    model = model.train().to(memory_format=layout)
    if compiled:
        model = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = images.to(memory_format=layout)

    def forward(images):
        return checkpoint_sequential(model, round(len(model) ** 0.5), images, use_reentrant=False)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=short):
            loss = loss_of(forward if checkpointed else model, images)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    serve(step)
    return torch.__version__


def run_tensorflow(network, batch, image, threads, short, xla):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    import numpy as np
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if short:
        keras.config.set_dtype_policy("mixed_bfloat16")
    applications = keras.applications
    build = {"inception_v3": applications.InceptionV3, "xception": applications.Xception,
             "resnet50": applications.ResNet50}[network]
    model = build(weights=None, input_shape=(image, image, 3), classifier_activation=None)
    optimizer = keras.optimizers.SGD(1e-3, momentum=0.9)
    optimizer.build(model.trainable_variables)
    images = tf.constant(np.random.default_rng(0).random((batch, image, image, 3), np.float32))
    labels = tf.constant(np.arange(batch) % 1000)

    @tf.function(jit_compile=xla)
    def train():
        with tf.GradientTape() as tape:
            logits = tf.cast(model(images, training=True), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    serve(lambda: float(train()))
    return tf.__version__


def main(kind, network, batch, image, threads, precision="f32"):
    sizes = (network, int(batch), int(image), int(threads), precision == "bf16")
    if kind.startswith("torch"):
        version = run_torch(*sizes, channels_last=kind != "torch", compiled=kind == "torch_compile",
                            checkpointed=kind == "torch_checkpoint")
    else:
        version = run_tensorflow(*sizes, xla=kind == "tf_xla")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"version": version, "peak_bytes": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
