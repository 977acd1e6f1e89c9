#!/usr/bin/env python3
"""Makes tests/golden/events.json: an event file as TensorFlow's own classes write it, byte for byte.

    python tools/golden/make_events.py

Run it in a venv with tensorflow-cpu. The stored file comes from TensorFlow 2.21.0.

Fields: `file` is base64 of the whole file, `png` of the picture in it. All numbers are such that float32
and float64 hold them exactly, so that the order of additions does not show.
"""

import base64
import json
import os
import pathlib
import struct
import tempfile
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "events.json"
TIME = 1700000000.25
VALUES = [-1.5, -1.5, -1.25, 0.0, 0.125, 0.25, 0.5, 2.0, 5.875, 6.0]
BUCKETS = 30


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(range(y, y + width * 3)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def histogram(values):
    least, greatest = min(values), max(values)
    proto = tf.compat.v1.HistogramProto(min=least, max=greatest, num=len(values), sum=sum(values),
                                        sum_squares=sum(v * v for v in values))
    width = (greatest - least) / BUCKETS
    counts = [0] * BUCKETS
    for value in values:
        counts[min(int((value - least) / width), BUCKETS - 1)] += 1
    proto.bucket_limit.extend(least + width * (b + 1) for b in range(BUCKETS))
    proto.bucket.extend(counts)
    return proto


def main():
    event, summary, session = tf.compat.v1.Event, tf.compat.v1.Summary, tf.compat.v1.SessionLog
    picture = png(3, 2)

    def one(step, **value):
        return event(wall_time=TIME, step=step, summary=summary(value=[summary.Value(**value)]))

    events = [
        event(wall_time=TIME, file_version="brain.Event:2"),
        event(wall_time=TIME, step=300, session_log=session(status=session.START)),
        one(0, tag="epoch_loss", simple_value=0.0),
        one(300, tag="epoch_loss", simple_value=1.75),
        one(1 << 40, tag="memory/resident", simple_value=float("nan")),
        one(301, tag="weights/conv", histo=histogram(VALUES)),
        one(302, tag="weights/same", histo=tf.compat.v1.HistogramProto(
            min=2, max=2, num=3, sum=6, sum_squares=12, bucket_limit=[2], bucket=[3])),
        one(303, tag="first_batch", image=summary.Image(height=2, width=3, colorspace=3,
                                                        encoded_image_string=picture)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "events"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for item in events:
                writer.write(item.SerializeToString(deterministic=True))
        content = path.read_bytes()
    OUT.write_text(json.dumps({"file": base64.b64encode(content).decode(),
                               "png": base64.b64encode(picture).decode()}, indent=1) + "\n")


main()
