/* SPDX-License-Identifier: Apache-2.0 */
#include "compression.h"

#include <string.h>

#include "format_int.h"

enum { SUFFIXES = 3 };

static const struct {
    const char *name;
    const char *magic;
    size_t magic_size;
    const char *suffixes[SUFFIXES];
} formats[COMPRESSION_COUNT] = {
    [COMPRESSION_NONE] = {.name = "none"},
    [COMPRESSION_GZIP] = {"gzip", "\x1f\x8b\x08", 3, {".gz", ".tgz"}},
    [COMPRESSION_ZLIB] = {.name = "zlib", .magic = "\x78", .magic_size = 1},
    [COMPRESSION_ZSTD] = {"zstd", "\x28\xb5\x2f\xfd", 4, {".zst", ".tzst"}},
    [COMPRESSION_XZ] = {"xz", "\xfd\x37zXZ\0", 6, {".xz", ".txz"}},
    [COMPRESSION_BZIP2] = {"bzip2", "BZh", 3, {".bz2", ".tbz", ".tbz2"}},
};

/*
 * True for bzip2, false for a tar archive whose first member's name begins with "BZh" and a digit.
 * In bzip2 a block marker or an end marker follows, which cannot be part of a name.
 */
static bool is_bzip2(const uint8_t *bytes, size_t size)
{
    return size >= 10 && bytes[3] >= '1' && bytes[3] <= '9' &&
           (memcmp(bytes + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0 ||
            memcmp(bytes + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

/*
 * True for a zlib stream (RFC 1950), whose magic number is short. The name of the first member of a
 * tar archive is printable or UTF-8, and a TFRecord file begins with a length of 8 bytes, of which
 * the upper 4 are zeros.
 */
static bool is_zlib(const uint8_t *bytes, size_t size)
{
    bool is_text = true;

    if (size < COMPRESSION_MAGIC || (bytes[0] << 8 | bytes[1]) % 31 != 0 ||
        (bytes[1] & 0x20) != 0 || (bytes[2] & 6) == 6 || memcmp(bytes + 4, "\0\0\0", 4) == 0) {
        return false;
    }
    for (size_t i = 0; i < COMPRESSION_MAGIC; i++) {
        is_text = is_text && (bytes[i] >= ' ' || bytes[i] == 0) && bytes[i] < 127;
    }
    return !is_text;
}

compression compression_of(const uint8_t *bytes, size_t size)
{
    for (compression i = COMPRESSION_NONE + 1; i < COMPRESSION_COUNT; i++) {
        if (size >= formats[i].magic_size &&
            memcmp(bytes, formats[i].magic, formats[i].magic_size) == 0) {
            return (i == COMPRESSION_BZIP2 && !is_bzip2(bytes, size)) ||
                           (i == COMPRESSION_ZLIB && !is_zlib(bytes, size))
                       ? COMPRESSION_NONE
                       : i;
        }
    }
    return COMPRESSION_NONE;
}

bool compression_has_suffix(const char *path)
{
    for (compression i = COMPRESSION_NONE + 1; i < COMPRESSION_COUNT; i++) {
        for (size_t k = 0; k < SUFFIXES && formats[i].suffixes[k] != NULL; k++) {
            const char *suffix = formats[i].suffixes[k];

            if (strcmp(path, suffix) != 0 && sli_ends_in(path, suffix)) { /* ".gz" has no name */
                return true;
            }
        }
    }
    return false;
}

const char *compression_name(compression format)
{
    return formats[format].name;
}
