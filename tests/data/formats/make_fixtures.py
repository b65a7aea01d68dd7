#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes the files beside it, and the seeds of fuzz_webp, fuzz_tiff and fuzz_jp2: make_fixtures.py [FUZZ_CORPUS].
# By Pillow 13, numpy and opj_compress 2.5; NAME.ppm is what Pillow decodes of NAME.webp or NAME.jp2, with transparent
# pixels blended onto black; of jp2-ycc and jp2-palette it is computed here: Pillow rounds sYCC to 6 bits. The TIFF files
# of the seeds are written here, as Pillow writes neither tiles nor planes.
import io
import itertools
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))


def picture(height, width, channels, top=256):
    y, x = np.mgrid[0:height, 0:width]
    waves = [(x * 5 * (c + 1) + y * (7 - c) + (x * y) % 11) % top for c in range(channels)]
    return np.stack(waves, -1).astype(np.uint8)


def over_black(image):
    rgba = np.asarray(image.convert("RGBA")).astype(int)
    product = rgba[..., :3] * rgba[..., 3:] + 128
    return ((product + (product >> 8)) >> 8).astype(np.uint8)


def webp(image, **options):
    out = io.BytesIO()
    image.save(out, "WEBP", **options)
    return out.getvalue()


def animation(mode, count, **options):
    channels = len(mode)
    frames = [Image.fromarray(picture(11, 13, channels) // (i + 1), mode) for i in range(count)]
    return webp(frames[0], save_all=True, append_images=frames[1:], duration=40, **options)


def turned(orientation):
    exif = Image.Exif()
    exif[0x112] = orientation
    return exif


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def fixture(name, extension, data, pixels=None):
    write(HERE, name + extension, data)
    if pixels is None:
        pixels = over_black(Image.open(io.BytesIO(data)))
    write(HERE, name + ".ppm", b"P6\n%d %d\n255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes())


# ---- TIFF ----------------------------------------------------------------------------------------


def packbits(data):
    return b"".join(bytes([len(part) - 1]) + part for part in
                    (data[i:i + 128] for i in range(0, len(data), 128)))


def lzw(data):
    codes = [256]
    for i in range(0, len(data), 250):  # cleared before codes need 10 bits
        codes += list(data[i:i + 250]) + [256]
    bits = "".join(format(code, "09b") for code in codes + [257])
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")


COMPRESSIONS = {1: bytes, 5: lzw, 8: zlib.compress, 32773: packbits}


def packed(lines, bits, order):
    if bits >= 8:
        return lines.astype(order + {8: "u1", 16: "u2", 32: "f4"}[bits]).tobytes()
    digits = np.unpackbits(lines.astype(np.uint8).reshape(len(lines), -1)[..., None], axis=2)[..., 8 - bits:]
    return b"".join(np.packbits(line).tobytes() for line in digits.reshape(len(lines), -1))


def tiff(a, bits=8, photometric=None, compression=1, tile=None, rows=4, planes=False, order="<", extra=None,
         colours=None, pages=1, orientation=1, kind=1):
    height, width, channels = a.shape
    out = bytearray(struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, 0))
    link = 4
    for _ in range(pages):
        offsets, counts = [], []
        for plane in [a[..., c:c + 1] for c in range(channels)] if planes else [a]:
            step, across = tile or (rows, width)
            for y, x in itertools.product(range(0, height, step), range(0, width, across)):
                part = plane[y:y + step, x:x + across]
                if tile:
                    part = np.pad(part, ((0, step - part.shape[0]), (0, across - part.shape[1]), (0, 0)))
                data = COMPRESSIONS[compression](packed(part, bits, order))
                offsets.append(len(out))
                counts.append(len(data))
                out += data + b"\0" * (len(data) % 2)
        photometric = photometric if photometric is not None else 2 if channels >= 3 else 1
        tags = {256: [width], 257: [height], 258: [bits] * channels, 259: [compression], 262: [photometric],
                274: [orientation], 277: [channels], 284: [2 if planes else 1], 339: [kind] * channels}
        tags.update({322: [across], 323: [step], 324: offsets, 325: counts} if tile else
                    {273: offsets, 278: [rows], 279: counts})
        if extra is not None:
            tags[338] = [extra]
        if colours is not None:
            tags[320] = colours
        entries = b""
        for tag, values in sorted(tags.items()):
            wide = tag in (256, 257, 273, 278, 279, 322, 323, 324, 325)
            data = struct.pack(order + str(len(values)) + ("I" if wide else "H"), *values)
            if len(data) > 4:
                place = struct.pack(order + "I", len(out))
                out += data + b"\0" * (len(data) % 2)
                data = place
            entries += struct.pack(order + "HHI", tag, 4 if wide else 3, len(values)) + data.ljust(4, b"\0")
        struct.pack_into(order + "I", out, link, len(out))
        out += struct.pack(order + "H", len(tags)) + entries
        link = len(out)
        out += bytes(4)
    return bytes(out)


def tiff_seeds():
    small = picture(9, 11, 3)
    for compression, order in itertools.product(COMPRESSIONS, "<>"):
        yield tiff(small, compression=compression, order=order)
        yield tiff(small, compression=compression, order=order, tile=(16, 16), planes=compression == 8)
        yield tiff(small[..., :1], compression=compression, order=order, rows=9)
    for bits in (1, 2, 4, 8):
        yield tiff(picture(5, 7, 1, 1 << bits), bits, 3, 5, colours=list(range(0, 65536, 65536 // (3 << bits)))[:3 << bits])
        yield tiff(picture(5, 7, 1, 1 << bits), bits, 0, 32773)
    yield tiff(picture(5, 7, 4), extra=2)
    yield tiff(picture(5, 7, 4), extra=1, planes=True)
    yield tiff(picture(5, 7, 4), photometric=5)
    yield tiff(picture(5, 7, 2), extra=2, compression=8)
    yield tiff(picture(5, 7, 1), 16)
    yield tiff(picture(5, 7, 3), 16, order=">")
    yield tiff(picture(5, 7, 1), 32, kind=3)
    yield tiff(picture(5, 7, 3), pages=3, orientation=6)
    yield tiff(picture(5, 7, 1) / 3, 32, kind=3, compression=8, tile=(16, 16), order=">")
    yield tiff(picture(5, 7, 3) / 3, 32, kind=3, compression=5)
    yield tiff(picture(5, 7, 3) / 3, 32, kind=3, planes=True, orientation=6)
    yield tiff(picture(5, 7, 4).astype(int) * 257, 16, extra=2, planes=True)
    yield tiff(picture(5, 7, 1).astype(int) * 257, 16, 0)


def jp2(pixels, bare=False, **options):
    out = io.BytesIO()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.save(out, "JPEG2000", no_jp2=bare, **options)
    return out.getvalue()


def opj_compress(planes, bits, steps, *options, extension="jp2"):
    """Planes as opj_compress codes them; steps: the subsampling, such as 1x1:2x2:2x2."""
    height, width = planes[0].shape
    with tempfile.TemporaryDirectory() as folder:
        raw, out = os.path.join(folder, "in.yuv"), os.path.join(folder, "out." + extension)
        with open(raw, "wb") as file:
            file.write(b"".join(plane.astype(">u2" if bits > 8 else "u1").tobytes() for plane in planes))
        form = "%d,%d,%d,%d,u@%s" % (width, height, len(planes), bits, steps)
        subprocess.run(["opj_compress", "-i", raw, "-o", out, "-F", form, *options], check=True, capture_output=True)
        with open(out, "rb") as file:
            return file.read()


def rgb_of_ycc(luma, blue, red):
    y, cb, cr = (plane.astype(int) for plane in (luma, blue, red))
    cb, cr = cb - 128, cr - 128
    rgb = (y + ((91881 * cr + 32768) >> 16), y + ((-22554 * cb - 46802 * cr + 32768) >> 16),
           y + ((116130 * cb + 32768) >> 16))
    return np.clip(np.stack(rgb, -1), 0, 255).astype(np.uint8)


def ycc_fixture(height, width):
    planes = [picture(height, width, 3)[..., 0], picture(height // 2, width // 2, 2)[..., 1],
              picture(height // 2, width // 2, 3)[..., 2]]
    full = [planes[0]] + [plane.repeat(2, 0).repeat(2, 1) for plane in planes[1:]]
    data = opj_compress(planes, 8, "1x1:2x2:2x2", "-n", "3", "-mct", "0")
    fixture("jp2-ycc", ".jp2", data, rgb_of_ycc(*full))


def box(kind, content):
    return struct.pack(">I", 8 + len(content)) + kind + content


def palette_jp2(indices, palette):
    height, width = indices.shape
    entries, columns = palette.shape
    header = (box(b"ihdr", struct.pack(">IIHBBBB", height, width, 1, 7, 7, 0, 0)) +
              box(b"colr", struct.pack(">BBBI", 1, 0, 0, 16)) +
              box(b"pclr", struct.pack(">HB", entries, columns) + b"\7" * columns + palette.tobytes()) +
              box(b"cmap", b"".join(struct.pack(">HBB", 0, 1, c) for c in range(columns))))
    return (box(b"jP  ", b"\r\n\x87\n") + box(b"ftyp", b"jp2 \0\0\0\0jp2 ") + box(b"jp2h", header) +
            box(b"jp2c", jp2(indices[..., None], True, irreversible=False)))


def palette_fixture(height, width):
    indices, palette = picture(height, width, 1, 20)[..., 0], picture(20, 1, 3)[:, 0]
    fixture("jp2-palette", ".jp2", palette_jp2(indices, palette), palette[indices])


def wide_fixture(height, width, bits):
    """Values of 9 to 16 bits, as test_jp2.c computes them."""
    y, x = np.mgrid[0:height, 0:width]
    values = (x * 257 + y * 1021) % (1 << bits)
    write(HERE, "jp2-wide%d.jp2" % bits, opj_compress([values], bits, "1x1", "-n", "2"))


def jp2_seeds():
    for channels, bare, options in itertools.product((1, 2, 3, 4), (False, True), (
            {"irreversible": False}, {"irreversible": True, "quality_layers": [20]},
            {"tile_size": (8, 8)}, {"progression": "RPCL", "num_resolutions": 2})):
        yield jp2(picture(9, 10, channels), bare, **options)
    planes = [picture(10, 12, 1)[..., 0], picture(5, 6, 1)[..., 0], picture(5, 6, 1)[..., 0]]
    for extension in ("jp2", "j2k"):
        for options in ((), ("-SOP", "-EPH"), ("-M", "63"), ("-r", "9,5,1"), ("-t", "8,8", "-TP", "R"), ("-b", "4,4"),
                        ("-c", "[4,4],[2,2]"), ("-d", "3,5"), ("-ROI", "c=0,U=3")):
            yield opj_compress(planes, 8, "1x1:2x2:2x2", "-n", "2", "-mct", "0", *options, extension=extension)
    yield opj_compress([picture(10, 12, 1)[..., 0] * 200], 16, "1x1", "-n", "2")
    yield palette_jp2(picture(7, 9, 1, 20)[..., 0], picture(20, 1, 4)[:, 0])


def webp_seeds():
    for (height, width), channels in itertools.product(((1, 1), (6, 5), (17, 18)), (3, 4)):
        image = Image.fromarray(picture(height, width, channels), "RGBA"[:channels])
        for options in ({"lossless": True}, {"quality": 80}, {"quality": 5}, {"quality": 60, "alpha_quality": 20}):
            yield webp(image, **options)
    for lossless, count, mode in itertools.product((True, False), (1, 2, 3), ("RGB", "RGBA")):
        yield animation(mode, count, lossless=lossless)
    yield webp(Image.fromarray(picture(6, 5, 3), "RGB"), exif=turned(6))


fixture("lossless", ".webp", webp(Image.fromarray(picture(11, 13, 3), "RGB"), lossless=True))
fixture("lossy", ".webp", webp(Image.fromarray(picture(37, 41, 3), "RGB"), quality=70))
fixture("alpha", ".webp", webp(Image.fromarray(picture(23, 19, 4), "RGBA"), quality=60, exif=turned(6)))
fixture("lossless-alpha", ".webp", webp(Image.fromarray(picture(9, 8, 4), "RGBA"), lossless=True, exact=True))
fixture("animation", ".webp", animation("RGB", 3, lossless=True))
fixture("jp2-rgb", ".jp2", jp2(picture(21, 34, 3), irreversible=False))
fixture("jp2-alpha", ".jp2", jp2(picture(17, 11, 4), irreversible=False))
fixture("jp2-gray", ".jp2", jp2(picture(19, 26, 1), irreversible=False, tile_size=(16, 16)))
fixture("jp2-lossy", ".jp2", jp2(picture(40, 33, 3), irreversible=True, quality_mode="rates", quality_layers=[6]))
fixture("jp2-tiles", ".jp2", jp2(picture(45, 50, 3), irreversible=True, quality_mode="rates", quality_layers=[4],
                                 tile_size=(16, 24), offset=(7, 3), tile_offset=(2, 1)))
ycc_fixture(22, 30)
palette_fixture(17, 23)
wide_fixture(12, 21, 16)
wide_fixture(12, 21, 12)
if len(sys.argv) > 1:
    for folder, seeds in (("webp", webp_seeds()), ("tiff", tiff_seeds()), ("jp2", jp2_seeds())):
        os.makedirs(os.path.join(sys.argv[1], folder), exist_ok=True)
        for i, seed in enumerate(seeds):
            write(os.path.join(sys.argv[1], folder), "seed-%02d" % i, seed)
