#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# CPU time of decoding whole images of each format: by `sluice verify` with one worker, by Pillow and by OpenCV, side by
# side, medians of the rounds. The files are made of the JPEGs in FOLDER by Pillow. Sluice's time is that of a list
# read three times less that of the list read once, so that start-up is not counted.
#   formats.py SLUICE FOLDER [ROUNDS [FORMAT...]]
import glob
import io
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np
from PIL import Image

FORMATS = {
    "jpeg": ("jpg", {"quality": 90}),
    "webp-lossy": ("webp", {"quality": 80}),
    "webp-lossless": ("webp", {"lossless": True}),
    "tiff": ("tif", {}),
    "tiff-lzw": ("tif", {"compression": "tiff_lzw"}),
    "tiff-deflate": ("tif", {"compression": "tiff_adobe_deflate"}),
    "jp2-lossy": ("jp2", {"irreversible": True, "quality_mode": "rates", "quality_layers": [15]}),
    "jp2-lossless": ("jp2", {"irreversible": False}),
}
TIMES = 3


def make(folder, sources, extension, options):
    for i, source in enumerate(sources):
        Image.open(source).convert("RGB").save(os.path.join(folder, "%04d.%s" % (i, extension)), **options)
    files = sorted(os.listdir(folder))
    for times in (1, TIMES):
        with open(os.path.join(folder, "list%d.tsv" % times), "w", encoding="utf-8") as out:
            out.write("image\tlabel\n" + "".join(name + "\t0\n" for name in files * times))
    return [open(os.path.join(folder, name), "rb").read() for name in files]


def children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def verify(sluice, folder, times):
    before = children()
    subprocess.run([sluice, "verify", "image_list list%d.tsv" % times, "--workers", "1"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return children() - before


def timed(decode, files):
    before = time.process_time()
    for data in files:
        decode(data)
    return time.process_time() - before


def pillow(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def opencv(data):
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return image


def main(sluice, folder, rounds=5, *names):
    cv2.setNumThreads(1)
    sources = sorted(path for path in glob.glob(os.path.join(folder, "**"), recursive=True)
                     if path.lower().endswith((".jpg", ".jpeg")))
    for name in names or FORMATS:
        with tempfile.TemporaryDirectory() as made:
            files = make(made, sources, *FORMATS[name])
            columns = ([], [], [])
            for _ in range(int(rounds)):
                sluices = (verify(sluice, made, TIMES) - verify(sluice, made, 1)) / (TIMES - 1)
                for column, seconds in zip(columns, (sluices, timed(pillow, files), timed(opencv, files))):
                    column.append(1000 * seconds / len(files))
        medians = [statistics.median(column) for column in columns]
        print("%-14s %d files, %d KB each: sluice %.2f ms, pillow %.2f ms, opencv %.2f ms" %
              (name, len(files), sum(map(len, files)) // len(files) // 1000, *medians), flush=True)


main(os.path.abspath(sys.argv[1]), *sys.argv[2:])
