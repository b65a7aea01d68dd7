#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes the folders beside it by the PyPI package lmdb (with LMDB 0.9), and seeds of fuzz_lmdb: make_fixtures.py [FUZZ_CORPUS].
# Pillow and numpy make the images; a Datum is written here, as caffe.proto has it.
import io
import os
import shutil
import struct
import sys

import lmdb
import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def datum(label, channels=None, height=None, width=None, data=None, floats=(), encoded=False):
    out = b""
    for field, number in ((1, channels), (2, height), (3, width)):
        if number is not None:
            out += varint(field << 3) + varint(number)
    if data is not None:
        out += varint(4 << 3 | 2) + varint(len(data)) + data
    out += varint(5 << 3) + varint(label)
    for number in floats:
        out += varint(6 << 3 | 5) + struct.pack("<f", number)
    return out + (varint(7 << 3) + b"\x01" if encoded else b"")


def picture(seed, height, width):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([(x * 5 + y * 3 * (c + 1) + seed * 17) % 256 for c in range(3)], -1).astype(np.uint8)


def png(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def write(name, pairs, databases=(), deleted=()):
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    with lmdb.open(folder, map_size=1 << 20, max_dbs=4) as env:
        with env.begin(write=True) as txn:
            for key, value in pairs:
                txn.put(key, value)
            for database, dupsort, more in databases:
                handle = env.open_db(database, txn=txn, dupsort=dupsort)
                for key, value in more:
                    txn.put(key, value, db=handle)
        for key in deleted:
            with env.begin(write=True) as txn:
                txn.delete(key)
    os.remove(os.path.join(folder, "lock.mdb"))
    print(name, os.path.getsize(os.path.join(folder, "data.mdb")))


def main():
    # Caffe's convert_imageset: BGR, planes; keys in byte order, which are written in another one. The two meta pages differ.
    write("caffe", ((b"%08d" % i, datum(i * 3 - 1, 3, 8, 6, picture(i, 8, 6)[..., ::-1].transpose(2, 0, 1).tobytes()))
                    for i in (4, 1, 0, 6, 3, 2)), deleted=(b"00000006",))
    # with --encoded: values of several pages
    noise = np.random.default_rng(1).integers(0, 256, (40, 30, 3), dtype=np.uint8)
    write("encoded", ((b"%08d" % i, datum(i, data=png(noise[i:] if i % 2 else picture(i, 8, 6)), encoded=True))
                      for i in range(4)))
    write("images", ((b"image-%d" % i, png(picture(i, 7 + i, 9))) for i in range(3)))
    write("floats", ((b"%d" % i, datum(i, 2, 1, 1, floats=(i, -0.5 * i))) for i in range(3)))
    # a tree of depth 3
    write("deep", ((b"%03d" % i + b"k" * 500, struct.pack("<i", i)) for i in range(50)))
    write("named", (), [(b"train", False, [(b"a", b"1")]), (b"many", True, [(b"a", b"1"), (b"a", b"2")])])
    if len(sys.argv) > 1:
        seeds(os.path.join(sys.argv[1], "lmdb"))


# A file of pages of 512 bytes, which LMDB would write on no machine of today: the seeds are small.
def small_file(depth, entries, root, pages):
    def meta(number):
        none = struct.pack("<IHHQQQQQ", 512, 8, 0, 0, 0, 0, 0, (1 << 64) - 1)
        main = struct.pack("<IHHQQQQQ", 0, 0, depth, 0, 0, 0, entries, root)
        return struct.pack("<QHHI", number, 0, 8, 0) + struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, 1 << 20) + none + main + \
            struct.pack("<QQ", len(pages) + 1, number)

    return b"".join(page.ljust(512, b"\0") for page in [meta(0), meta(1)] + pages)


def small_page(number, kind, nodes):
    body, places = b"", []
    for node in nodes:
        body = node + bytes(len(node) % 2) + body
        places.append(512 - len(body))
    head = struct.pack("<QHHHH", number, 0, kind, 16 + 2 * len(nodes), 512 - len(body))
    head += b"".join(struct.pack("<H", place) for place in places)
    return head + bytes(512 - len(head) - len(body)) + body


def leaf_node(key, value, flags=0, size=None):
    return struct.pack("<IHH", len(value) if size is None else size, flags, len(key)) + key + value


def branch_node(key, page):
    return struct.pack("<IHH", page & 0xFFFFFFFF, page >> 32, len(key)) + key


def overflow(number, pages, value):
    return struct.pack("<QHHI", number, 0, 4, pages) + value


def seeds(folder):
    pixels = datum(3, 3, 2, 2, bytes(range(12)))
    other = datum(-1, data=b"file", floats=(1, -2.5), encoded=True)
    leaf = [leaf_node(b"a", pixels), leaf_node(b"b", other)]
    small = [pixels, other, datum(0), datum(1 << 40), datum(1, 4, 1, 1, b"bgra"), datum(1, 1, 1, 1, b"g"), datum(1, 2, 1, 1, b"gg"),
             datum(1, -1, -1, 1, b"g"), b"\x32\x08" + bytes(8), b"\x32\x07" + bytes(7), b"\x23\x24", b"\x28" + b"\xff" * 11]
    small += [pixels[:size] for size in range(1, len(pixels), 2)]
    small += [small_file(1, 2, 2, [small_page(2, 2, leaf)]), small_file(1, 3, 2, [small_page(2, 2, leaf)]),
              small_file(2, 2, 2, [small_page(2, 1, [branch_node(b"", 3), branch_node(b"b", 4)]), small_page(3, 2, leaf[:1]),
                                   small_page(4, 2, leaf[1:])]),
              small_file(2, 2, 2, [small_page(2, 1, [branch_node(b"", 3), branch_node(b"b", 3)]), small_page(3, 2, leaf)]),
              small_file(2, 2, 2, [small_page(2, 1, [branch_node(b"", 2)])]),
              small_file(32, 2, 2, [small_page(2, 1, [branch_node(b"", 2)] * 9)]),
              small_file(1, 1, 2, [small_page(2, 2, [leaf_node(b"a", struct.pack("<Q", 3), 1, 600)]), overflow(3, 2, bytes(496)),
                                   bytes(512)]),
              small_file(1, 3, 2, [small_page(2, 2, [leaf_node(b"%d" % flags, bytes(8), flags) for flags in (2, 4, 6)])]),
              small_file(0, 0, (1 << 64) - 1, [])]
    small.append(open(os.path.join(HERE, "images", "data.mdb"), "rb").read())
    for number, data in enumerate(small):
        with open(os.path.join(folder, "seed-%02d" % number), "wb") as file:
            file.write(data)


main()
