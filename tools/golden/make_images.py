#!/usr/bin/env python3
"""Makes tests/golden/images.json: small image files and what Pillow, TensorFlow and Keras make of them.

    python tools/golden/make_images.py

Run it in a venv with pillow, scipy, tensorflow-cpu and numpy. The stored file comes from Pillow 13.0.0,
TensorFlow 2.21.0, Keras 3.15.1, SciPy 1.17.1 and NumPy 2.4.6.

Fields; bytes are base64, pixels are [height][width][channels]:
- files: encoded bytes of a small file, and its pixels upright, in RGB (by Pillow's convert("RGB"), 16-bit
  samples by their high byte).
- resizes: of the picture `from` of `pictures`, by which library, and how.
- warps: Keras's apply_affine_transform on the square picture; colours: one change each.
- normalised: Keras's preprocess_input on a few levels of one pixel.
"""

import base64
import io
import json
import os
import pathlib
import struct
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from keras.src.legacy.preprocessing.image import apply_affine_transform, apply_brightness_shift, apply_channel_shift
from keras.src.applications.imagenet_utils import preprocess_input
from PIL import Image, ImageOps

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "images.json"


def text(data):
    return base64.b64encode(bytes(data)).decode()


def picture(height, width, seed=0):
    """Waves and an edge with a little noise: what filters and DCT have to show their worth on."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [128 + 90 * np.sin(0.23 * x + 0.4 * c + seed) * np.cos(0.19 * y - 0.7 * c) for c in range(3)]
    image = np.stack(planes, -1) + 25 * ((x > width * 0.6) & (y > height * 0.3))[..., None]
    return np.clip(image + rng.normal(0, 6, image.shape), 0, 255).astype(np.uint8)


def save(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def png(rows, depth, color, interlaced=False, extra=b""):
    """A PNG of any depth and colour type; rows[y][x] is a tuple of samples."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    def packed(row):
        bits = "".join(format(int(sample), f"0{depth}b") for pixel in row for sample in pixel)
        bits += "0" * (-len(bits) % 8)
        return b"\0" + bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))

    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    data = b""
    for x0, y0, dx, dy in passes if interlaced else [(0, 0, 1, 1)]:
        for row in rows[y0::dy]:
            if len(row[x0::dx]):
                data += packed(row[x0::dx])
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), depth, color, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def png_chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def bmp(image, bits, top_down=False, masks=None):
    """Uncompressed BMP of 4, 16 or 24 bits."""
    height, width = image.shape[:2]
    palette = b""
    if bits == 4:
        levels = [(i * 17, 255 - i * 17, i * 5, 0) for i in range(16)]
        palette = b"".join(bytes(level) for level in levels)
    rows = b""
    for y in range(height) if top_down else reversed(range(height)):
        row = b""
        if bits == 4:
            index = image[y, :, 0] >> 4
            index = np.append(index, 0) if width % 2 else index
            row = bytes((int(a) << 4 | int(b)) for a, b in zip(index[0::2], index[1::2]))
        elif bits == 16:
            r, g, b = (image[y, :, c].astype(int) for c in range(3))
            value = (r >> 3 << 11 | g >> 2 << 5 | b >> 3) if masks else (r >> 3 << 10 | g >> 3 << 5 | b >> 3)
            row = value.astype("<u2").tobytes()
        else:
            row = image[y, :, ::-1].tobytes()
        rows += row + b"\0" * (-len(row) % 4)
    mask_bytes = struct.pack("<III", *masks) if masks else b""
    start = 14 + 40 + len(mask_bytes) + len(palette)
    head = b"BM" + struct.pack("<IHHI", start + len(rows), 0, 0, start)
    info = struct.pack("<IiiHHIIiiII", 40, width, -height if top_down else height, 1, bits, 3 if masks else 0, len(rows), 0, 0, 0, 0)
    return head + info + mask_bytes + palette + rows


def files():
    image = picture(21, 29)
    rgb = Image.fromarray(image)
    grey = rgb.convert("L")
    rgba = rgb.copy()
    rgba.putalpha(Image.fromarray(image[..., 0]))
    palette = rgb.quantize(16)
    yield "rgb420.jpg", save(rgb, "JPEG", quality=88, subsampling=2)
    yield "rgb422.jpg", save(rgb, "JPEG", quality=75, subsampling=1)
    yield "rgb444.jpg", save(rgb, "JPEG", quality=95, subsampling=0)
    yield "progressive.jpg", save(rgb, "JPEG", quality=85, progressive=True)
    yield "restarts.jpg", save(rgb, "JPEG", quality=85, restart_marker_blocks=1)
    yield "grey.jpg", save(grey, "JPEG", quality=90)
    yield "cmyk.jpg", save(rgb.convert("CMYK"), "JPEG", quality=95)
    yield "one.jpg", save(Image.fromarray(image[:1, :1]), "JPEG")
    yield "rgb.png", png(image, 8, 2)
    yield "interlaced.png", png(image, 8, 2, interlaced=True)
    yield "rgb16.png", png(image.astype(int) * 256 + 77, 16, 2)
    yield "grey16.png", png(image[..., :1].astype(int) * 256 + 200, 16, 0)
    yield "grey1.png", png(image[..., :1] >> 7, 1, 0)
    yield "grey2.png", png(image[..., :1] >> 6, 2, 0, interlaced=True)
    yield "grey4.png", png(image[..., :1] >> 4, 4, 0)
    yield "grey_alpha.png", save(rgba.convert("LA"), "PNG")
    yield "rgba.png", save(rgba, "PNG")
    yield "palette.png", save(palette, "PNG", transparency=3)
    yield "grey_transparent.png", png(image[..., :1], 8, 0, extra=png_chunk(b"tRNS", b"\0\x80"))
    yield "lossy.webp", save(rgb, "WEBP", quality=80)
    yield "lossless.webp", save(rgb, "WEBP", lossless=True)
    yield "lossy_alpha.webp", save(rgba, "WEBP", quality=80)
    yield "lossless_alpha.webp", save(rgba, "WEBP", lossless=True, exact=True)
    yield "rgb24.bmp", save(rgb, "BMP")
    yield "rgb32.bmp", save(rgba, "BMP")
    yield "palette8.bmp", save(palette, "BMP")
    yield "grey8.bmp", save(grey, "BMP")
    yield "mono.bmp", save(grey.convert("1"), "BMP")
    yield "palette4.bmp", bmp(image, 4)
    yield "rgb555.bmp", bmp(image, 16)
    yield "rgb565.bmp", bmp(image, 16, masks=(0xF800, 0x07E0, 0x001F))
    yield "top_down.bmp", bmp(image, 24, top_down=True)
    yield "palette.gif", save(palette, "GIF", interlace=0)
    yield "interlaced.gif", save(palette, "GIF", interlace=1)
    wide = bytearray(save(palette, "GIF", interlace=0))
    wide[6:10] = struct.pack("<HH", 35, 24)  # a canvas larger than its frame
    yield "canvas.gif", bytes(wide)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        small = Image.fromarray(picture(8, 24, seed=orientation))
        yield f"turned{orientation}.jpg", save(small, "JPEG", quality=90, exif=exif)
    yield "turned6.png", save(rgb, "PNG", exif=turned(6))
    yield "turned8.webp", save(rgb, "WEBP", lossless=True, exif=turned(8))


def turned(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def pixels_of(name, data):
    if name == "grey16.png":  # Pillow clips 16-bit grey; TensorFlow takes the high byte, and so do we
        return tf.io.decode_png(data, channels=3).numpy()
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    pixels = np.asarray(image.convert("RGB"))
    if name.endswith(".jpg") and not name.startswith(("turned", "cmyk")):
        # TensorFlow's default is the fast DCT, which strays by some levels.
        theirs = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE").numpy()
        assert np.array_equal(theirs, pixels), name
    return pixels


def to_levels(values):
    return np.clip(np.floor(np.asarray(values, dtype=np.float64) + 0.5), 0, 255).astype(np.uint8)


def resizes(pictures):
    pillow = {
        "nearest": Image.Resampling.NEAREST,
        "bilinear-antialias": Image.Resampling.BILINEAR,
        "bicubic-antialias": Image.Resampling.BICUBIC,
    }
    tensorflow = {
        "nearest": ("nearest", False),
        "bilinear": ("bilinear", False),
        "bilinear-antialias": ("bilinear", True),
        "bicubic": ("bicubic", False),
        "bicubic-antialias": ("bicubic", True),
        "area": ("area", False),
    }
    for source, sizes in (("small", [(13, 17), (28, 36)]), ("large", [(12, 10)])):
        image = pictures[source]
        for height, width in sizes:
            for method, how in pillow.items():
                made = Image.fromarray(image).resize((width, height), how)
                yield dict(by="Pillow", method=method, **{"from": source}, size=[height, width], pixels=text(np.asarray(made).tobytes()))
            for method, (how, antialias) in tensorflow.items():
                made = tf.image.resize(image, (height, width), how, antialias=antialias)
                yield dict(by="TensorFlow", method=method, **{"from": source}, size=[height, width], pixels=text(to_levels(made).tobytes()))


def warps(image):
    cases = [
        dict(theta=20, tx=0, ty=0, shear=0, zx=1, zy=1),
        dict(theta=0, tx=3, ty=-2.25, shear=0, zx=1, zy=1),
        dict(theta=0, tx=0, ty=0, shear=15, zx=1, zy=1),
        dict(theta=0, tx=0, ty=0, shear=0, zx=0.8, zy=1.3),
        dict(theta=-35, tx=2.5, ty=4, shear=-10, zx=1.2, zy=0.9),
    ]
    for case in cases:
        for fill in ("nearest", "constant", "reflect", "wrap"):
            made = apply_affine_transform(
                image.astype(np.float32), **case, row_axis=0, col_axis=1, channel_axis=2, fill_mode=fill, cval=50.0
            )
            yield dict(**case, fill_mode=fill, cval=50, pixels=text(to_levels(made).tobytes()))


def colours(image):
    as_float = image.astype(np.float32)
    for shift in (-30.0, 45.0):
        yield dict(channel_shift=shift, pixels=text(to_levels(apply_channel_shift(as_float, shift, 2)).tobytes()))
    for factor in (0.6, 1.4):
        yield dict(brightness=factor, pixels=text(to_levels(apply_brightness_shift(as_float, factor, False)).tobytes()))
        yield dict(contrast=factor, pixels=text(to_levels(tf.image.adjust_contrast(as_float, factor)).tobytes()))
        yield dict(saturation=factor, pixels=text(tf.image.adjust_saturation(image, factor).numpy().tobytes()))
    for turn in (-0.3, 0.1, 0.45):
        yield dict(hue=turn, pixels=text(tf.image.adjust_hue(image, turn).numpy().tobytes()))


def normalised():
    pixel = np.array([[[12, 99, 250]]], dtype=np.float32)
    for mode in ("tf", "caffe", "torch"):
        made = preprocess_input(pixel.copy(), data_format="channels_last", mode=mode)
        yield dict(mode=mode, pixel=[12, 99, 250], values=[float(v) for v in made.reshape(-1)])


def main():
    pictures = {"small": picture(23, 31, 1), "large": picture(150, 96, 2), "square": picture(18, 18, 3)}
    golden = {"files": [], "pictures": {}}
    for name, data in files():
        pixels = pixels_of(name, data)
        golden["files"].append(dict(name=name, bytes=text(data), size=list(pixels.shape[:2]), pixels=text(pixels.tobytes())))
    for name, image in pictures.items():
        golden["pictures"][name] = dict(size=list(image.shape[:2]), pixels=text(image.tobytes()))
    golden["resizes"] = list(resizes(pictures))
    golden["warps"] = list(warps(pictures["square"]))
    golden["colours"] = list(colours(pictures["square"]))
    golden["normalised"] = list(normalised())
    OUT.write_text(json.dumps(golden, indent=0) + "\n")
    print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
