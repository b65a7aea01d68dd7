#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes quine.gz of this folder: a gzip file that decompresses to itself.

The stream consists of stored blocks ("print the next n bytes") and blocks of two matches ("repeat
the last n bytes of the output"). Both take 5 bytes, so that one can print the other. In between
stands the gzip header, at the end the trailer. The CRC-32 is an affine function of the four bytes
that hold it: the system of linear equations over GF(2) gives the bytes that are their own checksum.
"""
import struct
import zlib

HEADER = b"\x1f\x8b\x08\x08\0\0\0\0\x02\x03q\0"  # the file name is "q"
LAST = b"\x01\0\0\xff\xff"  # an empty stored block that ends the stream


def stored(n):
    return b"\0" + struct.pack("<HH", n, n ^ 0xFFFF)


def repeat(n):
    """A block of fixed Huffman codes, 40 bits: two matches of n / 2 at distance n, 17 <= n <= 20."""
    bits = [0, 1, 0]
    for length in (n // 2, n - n // 2):
        bits += [length - 2 >> i & 1 for i in range(6, -1, -1)]  # symbols 257 to 264
        bits += [0, 1, 0, 0, 0]  # distances 17 to 24
        bits += [n - 17 >> i & 1 for i in range(3)]
    bits += [0] * 7  # the end of the block
    return sum(bit << i for i, bit in enumerate(bits)).to_bytes(5, "little")


def quine(crc, size):
    tail = LAST + struct.pack("<II", crc, size)
    head, end = len(HEADER) + 5, len(tail) + 5
    again, four = repeat(head), repeat(20)
    parts = [HEADER, stored(head), HEADER, stored(head), again]
    parts += [stored(5), again, stored(5), stored(5)]
    parts += [stored(20), again, stored(5), stored(5), stored(20), four]
    parts += [stored(20), four, stored(20), four, stored(20), four]
    parts += [stored(20), four, stored(0), stored(0), stored(end), four]
    parts += [stored(0), stored(0), stored(end), repeat(end), tail, repeat(end), tail]
    return b"".join(parts)


def own_crc():
    """The c of crc32(quine(c)) = c, by Gaussian elimination."""
    size = len(quine(0, 0))
    offset = zlib.crc32(quine(0, size))
    columns = [zlib.crc32(quine(1 << i, size)) ^ offset ^ 1 << i for i in range(32)]
    rows = [(sum((columns[i] >> r & 1) << i for i in range(32)), offset >> r & 1) for r in range(32)]
    for i in range(32):
        pivot = next(k for k in range(i, 32) if rows[k][0] >> i & 1)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows = [
            (row[0] ^ rows[i][0], row[1] ^ rows[i][1]) if k != i and row[0] >> i & 1 else row
            for k, row in enumerate(rows)
        ]
    return sum(row[1] << i for i, row in enumerate(rows)), size


if __name__ == "__main__":
    made = quine(*own_crc())
    assert zlib.decompress(made, 31) == made
    with open("quine.gz", "wb") as file:
        file.write(made)
