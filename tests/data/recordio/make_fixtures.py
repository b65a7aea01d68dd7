#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes the files beside it, and seeds of fuzz_recordio: make_fixtures.py [FUZZ_CORPUS]. By mxnet.recordio of MXNet 1.9 if it is
# installed (it needs numpy below 1.24), else by the same layout, written here; both give the same bytes, which it says.
import io
import os
import struct
import sys

import numpy as np
from PIL import Image

try:
    import mxnet.recordio as own
except ImportError:
    own = None

HERE = os.path.dirname(os.path.abspath(__file__))
MAGIC = struct.pack("<I", 0xCED7230A)


def part(flag, data):
    return MAGIC + struct.pack("<I", flag << 29 | len(data)) + data + bytes(-len(data) % 4)


# dmlc-core's RecordIOWriter::WriteRecord
def record(data):
    out, begin = b"", 0
    for at in range(0, len(data) // 4 * 4, 4):
        if data[at:at + 4] == MAGIC:
            out += part(1 if begin == 0 else 2, data[begin:at])
            begin = at + 4
    return out + part(3 if begin else 0, data[begin:])


# mxnet.recordio.pack
def pack(labels, number, image):
    if isinstance(labels, tuple):
        return struct.pack("<IfQQ", len(labels), 0, number, 0) + struct.pack("<%df" % len(labels), *labels) + image
    return struct.pack("<IfQQ", 0, labels, number, 0) + image


def picture(seed, height, width):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([(x * 5 + y * 3 * (c + 1) + seed * 17) % 256 for c in range(3)], -1).astype(np.uint8)


def png(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def write(name, samples):
    path = os.path.join(HERE, name)
    data, index = b"", ""
    for number, (labels, image) in enumerate(samples):
        index += "%d\t%d\n" % (number, len(data))
        data += record(pack(labels, number, image))
    if own is not None:
        file = own.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
        for number, (labels, image) in enumerate(samples):
            file.write_idx(number, own.pack(own.IRHeader(0, labels, number, 0), image))
        file.close()
        same = open(path + ".rec", "rb").read() == data and open(path + ".idx").read() == index
        print(name, "by mxnet, and the same bytes as here" if same else "by mxnet, but OTHER BYTES")
    else:
        open(path + ".rec", "wb").write(data)
        open(path + ".idx", "w").write(index)
        print(name, "without mxnet")


def main():
    write("whole", [(float(3 * i - 1), png(picture(i, 8 + i, 6))) for i in range(5)])
    write("several", [((i + 0.5, -1.0, 2.0 * i), png(picture(i, 8, 6))) for i in range(4)])
    # Bytes with the magic number, at multiples of 4 in the record, whose header has 24, and elsewhere.
    write("escaped", [(1.0, MAGIC + b"abcd" + MAGIC + MAGIC + b"e" + MAGIC + b"fg"), (0.25, b""), (2.0, b"x" * 5)])
    if len(sys.argv) > 1:
        seeds(os.path.join(sys.argv[1], "recordio"))


# The files, such with wrong flags, lengths and labels, and truncated ones.
def seeds(folder):
    several, escaped = (open(os.path.join(HERE, name + ".rec"), "rb").read() for name in ("several", "escaped"))
    small = [several, escaped]
    small += [escaped[:4] + struct.pack("<I", flag << 29 | 24) + escaped[8:] for flag in range(8)]
    small += [escaped[:4] + struct.pack("<I", 1 << 29 | length) + escaped[8:] for length in (0, 1, 23, 25, 1 << 28)]
    small += [part(0, struct.pack("<IfQQ", labels, 1, 2, 3) + bytes(8)) for labels in (0, 1, 2, 3, 1 << 30)]
    small += [escaped[:size] for size in range(0, len(escaped), 12)]
    small += [b"3\t1.0\ta/b.png\r\n0\t1\t-2e3\tc d.png\n\n2\t.5\te", b"1\t1\ta\n1\t1\tb\n", b"1\tx\ta\n", b"-1\t1\ta\n"]
    for number, data in enumerate(small):
        with open(os.path.join(folder, "seed-%02d" % number), "wb") as file:
            file.write(data)


main()
