/* SPDX-License-Identifier: Apache-2.0 */
#include "compression.h"

#include <string.h>

#include "format_int.h"
#include "printable_int.h"

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

/* True for printable UTF-8, as lists and names of tar members are; zeros may follow a name. The
 * last character may be cut off if another one before it has several bytes, too. */
static bool is_text(const uint8_t *bytes, size_t size)
{
    char text[COMPRESSION_MAGIC + 4] = "";
    bool is_wide = false;
    size_t length;

    memcpy(text, bytes, size);
    for (size_t i = 0; i < size; i += length) {
        length = sli_utf8_length(text + i);
        if (length == 0) {
            return is_wide && i + 3 >= size && bytes[i] >= 0xC2;
        }
        if (bytes[i] != 0 && strchr("\t\n\r", bytes[i]) == NULL &&
            sli_is_control(text + i, length)) {
            return false;
        }
        is_wide = is_wide || length > 1;
    }
    return true;
}

/*
 * True for a zlib stream (RFC 1950). Its header is so short that other files may begin with it,
 * too: text is not compressed, and a TFRecord file begins with a length of 8 bytes, of which the
 * upper 4 are zeros.
 */
static bool is_zlib(const uint8_t *bytes, size_t size)
{
    return size >= COMPRESSION_MAGIC && (bytes[0] << 8 | bytes[1]) % 31 == 0 &&
           (bytes[1] & 0x20) == 0 && (bytes[2] & 6) != 6 && memcmp(bytes + 4, "\0\0\0", 4) != 0 &&
           !is_text(bytes, COMPRESSION_MAGIC);
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
