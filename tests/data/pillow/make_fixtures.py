#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the images of this folder: inputs, and what Pillow's bilinear resize makes of them.

Needs Pillow. Run it in this folder; the files are kept in the repository, so that tests need no
Pillow. Names: KIND-WxH.EXT is an input, KIND-WxH-to-WxH.EXT an output.
"""
from PIL import Image

SIZES = {
    "rgb-61x47": [(20, 30), (61, 13), (7, 61), (80, 33), (1, 1), (60, 46)],
    "gray-45x38": [(97, 20), (44, 39), (3, 3), (90, 76)],
    "rgb-400x2": [(13, 5)],
}


def sample(x, y, c):
    """Slopes, edges and noise."""
    noise = (x * 2654435761 ^ y * 2246822519 ^ c * 3266489917) & 0xFFFFFFFF
    noise = (noise ^ noise >> 15) * 2246822519 & 0xFFFFFFFF
    return (x * (3 + c) + y * (5 - c) + ((x // 5 + y // 7 + c) & 1) * 140 + (noise >> 26)) & 255


def make_input(name):
    kind, size = name.split("-")
    width, height = (int(n) for n in size.split("x"))
    channels = 3 if kind == "rgb" else 1
    pixels = ((x, y) for y in range(height) for x in range(width))
    data = bytes(sample(x, y, c) for x, y in pixels for c in range(channels))
    return Image.frombytes("RGB" if kind == "rgb" else "L", (width, height), data)


for name, outputs in SIZES.items():
    image = make_input(name)
    extension = ".ppm" if image.mode == "RGB" else ".pgm"
    image.save(name + extension)
    for size in outputs:
        image.resize(size, Image.BILINEAR).save("%s-to-%dx%d%s" % (name, *size, extension))
