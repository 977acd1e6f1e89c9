"""One contender of bench/data, in a process of its own: prints images per second.

    python data_worker.py {tf,pillow,torchvision} FOLDER SECONDS SIDE
"""

import os
import pathlib
import sys
import time

BATCH = 32


def batches_of_tf(paths, side):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    def load(path):
        data = tf.io.read_file(path)
        shape = tf.io.extract_jpeg_shape(data)
        box = tf.zeros([1, 0, 4])
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            shape, box, aspect_ratio_range=(3 / 4, 4 / 3), area_range=(0.35, 1.0), use_image_if_no_bounding_boxes=True
        )
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
        image = tf.image.decode_and_crop_jpeg(data, window, channels=3)
        image = tf.image.resize(image, (side, side))
        return tf.cast(tf.image.random_flip_left_right(image) + 0.5, tf.uint8)

    data = tf.data.Dataset.from_tensor_slices(paths).repeat()
    data = data.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    options = tf.data.Options()
    options.threading.private_threadpool_size = 1
    return iter(data.with_options(options))


def batches_of_torch(paths, side, with_torchvision):
    import torch

    torch.set_num_threads(1)
    if with_torchvision:
        import torchvision.io as io
        from torchvision.transforms import v2

        change = v2.Compose(
            [v2.RandomResizedCrop(side, scale=(0.35, 1.0), antialias=True), v2.RandomHorizontalFlip()]
        )

        def load(path):
            return change(io.decode_jpeg(io.read_file(path)))
    else:
        import math
        import random

        import numpy
        from PIL import Image

        def load(path):  # what torchvision does to Pillow images, without it
            image = Image.open(path).convert("RGB")
            width, height = image.size
            for _ in range(10):
                area = width * height * random.uniform(0.35, 1.0)
                ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
                w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
                if w <= width and h <= height:
                    break
            w, h = min(w, width), min(h, height)
            x, y = random.randint(0, width - w), random.randint(0, height - h)
            image = image.resize((side, side), Image.Resampling.BILINEAR, box=(x, y, x + w, y + h))
            if random.random() < 0.5:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            return torch.from_numpy(numpy.array(image))

    class Files(torch.utils.data.Dataset):
        def __len__(self):
            return 10**9

        def __getitem__(self, i):
            return load(paths[i % len(paths)])

    # Workers in the process itself: on one core another process only adds copies.
    return iter(torch.utils.data.DataLoader(Files(), batch_size=BATCH, num_workers=0))


def main():
    kind, folder, seconds, side = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    paths = sorted(str(path) for path in pathlib.Path(folder).iterdir())
    if kind == "tf":
        batches = batches_of_tf(paths, side)
    else:
        batches = batches_of_torch(paths, side, kind == "torchvision")
    for _ in range(3):
        next(batches)
    images, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        images += len(next(batches))
    print(images / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
