#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Makes the files beside it by MindSpore 2.10, and the seeds of fuzz_mindrecord: make_fixtures.py [FUZZ_CORPUS].
#
#     types        5 rows with a column of each type
#     two0, two1   8 rows of a label and bytes, in two files
#     pages.gz     80 rows with several pages of both kinds, compressed
#     texts        3 rows without bytes and arrays
#     plain        3 rows with nothing else
#     encrypted    `texts` with a key
#
# `texts`, `plain` and the seeds are what MindSpore wrote with the pages moved together: header_size and page_size are smaller
# in their headers, since MindSpore's smallest header and pages have 48 KiB. The test suite mindrecord_files computes the same
# values as types_row().
import gzip
import json
import os
import shutil
import struct
import sys
import tempfile

import numpy as np
from mindspore.mindrecord import FileWriter, set_enc_key

HERE = os.path.dirname(os.path.abspath(__file__))

TYPES = {"small": {"type": "int32"}, "large": {"type": "int64"}, "single": {"type": "float32"},
         "double": {"type": "float64"}, "name": {"type": "string"}, "data": {"type": "bytes"},
         "ints": {"type": "int32", "shape": [-1]}, "longs": {"type": "int64", "shape": [2, 3]},
         "singles": {"type": "float32", "shape": [4]}, "doubles": {"type": "float64", "shape": [-1, 2]}}


def types_row(i):
    sign = -1 if i % 2 else 1
    return {"small": sign * 70000 * i, "large": sign * 5000000000 * i, "single": i / 4 - 1, "double": i / 10,
            "name": "row %d \u00e9" % i, "data": bytes((i * 7 + k) % 256 for k in range(i * 3 + 1)),
            "ints": np.array([sign * 10 ** k for k in range(2 * i + 1)], np.int32),
            "longs": np.array([[i - 2, 300 * i, -40000], [2 ** 40, -1, -2 ** 62]], np.int64),
            "singles": np.array([i, i / 2, -i, 1e30], np.float32),
            "doubles": np.array([[k, -k / 3] for k in range(i + 1)], np.float64)}


def write(path, schema, rows, files=1):
    writer = FileWriter(path, files, overwrite=True)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(schema, "made by make_fixtures.py")
    writer.write_raw_data(rows)
    writer.commit()


def compact(path, to):
    """Moves the pages together."""
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    pages = header["page"] or []
    step = max([p["page_size"] for p in pages] + [1])
    kept = dict(header, page_size=step, header_size=10 ** 6)
    head = len(json.dumps(kept)) + 8
    kept["header_size"] = head
    text = json.dumps(kept).encode()
    out = bytearray(struct.pack("<Q", len(text)) + text)
    out += bytes(head - len(out))
    for i, page in enumerate(pages):
        begin = header["header_size"] + i * header["page_size"]
        out[head + i * step:] = data[begin:begin + page["page_size"]]
        if i + 1 < len(pages):
            out += bytes(head + (i + 1) * step - len(out))
    open(to, "wb").write(out)


def first_row(path):
    """The first row of the first page, without its length: a blob row, a map of MessagePack, or packed integers."""
    data = open(path, "rb").read()
    begin = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["header_size"]
    if path in ("small", "large", "double", "texts", "name_data"):
        begin += 1 << 15  # the raw page
    size = struct.unpack("<Q", data[begin:begin + 8])[0]
    return data[begin + 8:begin + 8 + size]


def main():
    corpus = os.path.join(os.path.abspath(sys.argv[1]), "mindrecord") if len(sys.argv) > 1 else None
    work = tempfile.mkdtemp()
    os.chdir(work)
    write("types", TYPES, [types_row(i) for i in range(5)])
    write("two", {"label": {"type": "int32"}, "data": {"type": "bytes"}},
          [{"label": i, "data": bytes([i] * (i + 1))} for i in range(8)], 2)
    write("pages", {"label": {"type": "int32"}, "text": {"type": "string"}, "data": {"type": "bytes"}},
          [{"label": i, "text": "t" * (1000 if i % 3 else 10), "data": bytes([i] * (400 if i % 5 else 12000))}
           for i in range(80)])
    write("texts", {"label": {"type": "int32"}, "text": {"type": "string"}},
          [{"label": i, "text": "text %d" % i} for i in range(3)])
    write("plain", {"data": {"type": "bytes"}}, [{"data": b"abc"[:i]} for i in range(1, 4)])
    for name in ("types", "two0", "two1"):
        shutil.copyfile(name, os.path.join(HERE, name))
    with gzip.GzipFile(os.path.join(HERE, "pages.gz"), "wb", mtime=0) as packed:
        packed.write(open("pages", "rb").read())
    for name in ("texts", "plain"):
        compact(name, os.path.join(HERE, name))
    set_enc_key("0123456789012345")
    write("locked", {"label": {"type": "int32"}}, [{"label": 1}])
    data = open("locked", "rb").read()
    open(os.path.join(HERE, "encrypted"), "wb").write(data[:64] + data[-64:])
    set_enc_key(None)
    if corpus:
        os.makedirs(corpus, exist_ok=True)
        names = ["types", "two0", "texts", "plain"]
        columns = list(TYPES)
        for i, name in enumerate(columns):  # each column alone, and with the one before it
            for chosen in ((name,), (columns[i - 1], name)):
                names.append("_".join(chosen))
                write(names[-1], {c: TYPES[c] for c in chosen}, [{c: types_row(k)[c] for c in chosen} for k in (3, 4)])
        for i, name in enumerate(names):
            compact(name, os.path.join(corpus, "seed-%02d" % i))
        for i, name in enumerate(("types", "ints", "longs", "texts", "small", "large", "double", "name_data")):
            open(os.path.join(corpus, "seed-%02d" % (len(names) + i)), "wb").write(first_row(name))
    shutil.rmtree(work)


main()
