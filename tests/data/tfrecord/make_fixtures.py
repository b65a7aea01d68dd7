#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_fixtures.py FOLDER SEEDS: files of records by TensorFlow, for source tfrecord, and seeds of its fuzzer.

examples.tfrecord has 6 tf.train.Example, sequences.tfrecord 4 tf.train.SequenceExample, and gzip.tfrecord
and zlib.tfrecord those of the first one; the suite source_tfrecord knows their values. Run it with tensorflow-cpu 2.21.0 from PyPI; CI has none.
"""
import os
import sys

import tensorflow as tf

folder, seeds = sys.argv[1:3]


def ints(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def floats(values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def texts(values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def example(n):
    image = b"P6 2 1 255\n" + bytes(range(n, n + 6))
    return tf.train.Example(features=tf.train.Features(feature={
        "image/encoded": texts([image]),
        "image/class/label": ints([n * 100]),
        "image/object/bbox": floats([0, 0, 1 + n % 2, 1] * (n % 3)),
        "big": ints([-1, 2**63 - 1, -2**63]),
        "weights": floats([0.5 * n, -n]),
        "caption": texts(["naïve {}".format(n).encode()]),
        "tags": texts([b"a", b"b"]),
    })).SerializeToString()


def sequence(n):
    steps = [ints([n, k]) for k in range(n)]
    return tf.train.SequenceExample(
        context=tf.train.Features(feature={"length": ints([n])}),
        feature_lists=tf.train.FeatureLists(feature_list={"steps": tf.train.FeatureList(feature=steps)}),
    ).SerializeToString()


def write(name, records, compression=""):
    with tf.io.TFRecordWriter(os.path.join(folder, name), compression) as writer:
        for record in records:
            writer.write(record)


write("examples.tfrecord", [example(n) for n in range(6)])
write("sequences.tfrecord", [sequence(n) for n in range(4)])
write("gzip.tfrecord", [example(n) for n in range(6)], "GZIP")
write("zlib.tfrecord", [example(n) for n in range(6)], "ZLIB")


def small(n):
    """An Example of some of the names that the fuzzer looks for."""
    values = [ints([n]), ints(range(-n, 0)), floats([n / 4]), floats([1, n]), texts([b"x" * n]), texts([b"a", b"b"]), tf.train.Feature()]
    names = ["a", "label", "w", "image/encoded"]
    return tf.train.Example(features=tf.train.Features(feature={
        names[k]: values[(n + k * (1 + n // 7)) % len(values)] for k in range(1 + n % 4)})).SerializeToString()


def framed(n):
    """A file of records."""
    path = os.path.join(folder, "seed.tmp")
    with tf.io.TFRecordWriter(path) as writer:
        for k in range(n):
            writer.write(small(n + k))
    with open(path, "rb") as file:
        data = file.read()
    os.remove(path)
    return data


os.makedirs(seeds, exist_ok=True)
inputs = [small(n) for n in range(1, 22)] + [sequence(n) for n in range(1, 5)] + [framed(n) for n in range(1, 5)] + [example(4)]
for number, data in enumerate(inputs):
    with open(os.path.join(seeds, "seed-{:02}".format(number)), "wb") as seed:
        seed.write(data)
