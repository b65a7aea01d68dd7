/* SPDX-License-Identifier: Apache-2.0 */
#include "recordio_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bytes_int.h"
#include "descriptor_int.h"
#include "status_int.h"

static const uint32_t MAGIC = 0xced7230a;

enum {
    MAGIC_SIZE = 4,
    MOST_PART = (1 << 29) - 1,
    WINDOW = 4096 /* bytes that a scan reads at once */
};

/* The flags of parts. */
enum { PART_WHOLE, PART_FIRST, PART_MIDDLE, PART_LAST };

typedef struct file_part {
    uint32_t flag;
    uint32_t length;
    uint32_t padded; /* length, up to a multiple of 4 */
} file_part;

/* Parses the head of a part; `inside`: the part before it was not the last one of its record. */
static sluice_status parse_part(const uint8_t *head, bool inside, file_part *part_out)
{
    const uint32_t word = sli_get_u32(head + MAGIC_SIZE);

    if (sli_get_u32(head) != MAGIC) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "a part of a record must begin with 0xced7230a, and begins with 0x%08x",
                        sli_get_u32(head));
    }
    part_out->flag = word >> 29;
    part_out->length = word & MOST_PART;
    part_out->padded = (part_out->length + 3) & ~UINT32_C(3);
    if (part_out->flag > PART_LAST) {
        return sli_fail(SLUICE_E_CORRUPT, "the flag of a part is %u, and must be 0 to 3",
                        part_out->flag);
    }
    if (inside != (part_out->flag == PART_MIDDLE || part_out->flag == PART_LAST)) {
        return sli_fail(SLUICE_E_CORRUPT, "the flag of a part is %u, and must be %s",
                        part_out->flag,
                        inside ? "2 or 3, as its record goes on" : "0 or 1, as a record begins");
    }
    return SLUICE_OK;
}

/* ---- scan ------------------------------------------------------------------------------------ */

typedef struct file_scan {
    int fd;
    uint64_t size;
    uint64_t begin; /* the window has bytes [begin, begin + held) of the file */
    size_t held;
    uint8_t window[WINDOW];
} file_scan;

/* Finds the head of a part, which lies in the file. */
static sluice_status find_head(file_scan *scan, uint64_t at, const uint8_t **head_out)
{
    if (at < scan->begin || at + RECORDIO_HEAD > scan->begin + scan->held) {
        const uint64_t rest = scan->size - at;
        const size_t wanted = rest < WINDOW ? (size_t)rest : WINDOW;
        const ssize_t got = sli_pread(scan->fd, scan->window, wanted, at);

        scan->begin = at;
        scan->held = got > 0 ? (size_t)got : 0;
        if (got < 0) {
            return sli_fail_errno(SLUICE_E_IO, errno, "cannot read at byte %llu",
                                  (unsigned long long)at);
        }
        if ((size_t)got != wanted) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the file is truncated: it ends within the record at byte %llu",
                            (unsigned long long)at);
        }
    }
    *head_out = scan->window + (at - scan->begin);
    return SLUICE_OK;
}

/* Finds the end of the record that begins at `begin`. */
static sluice_status find_end(file_scan *scan, uint64_t begin, uint64_t *end_out)
{
    uint64_t at = begin;
    file_part part = {.flag = PART_FIRST};

    while (part.flag == PART_FIRST || part.flag == PART_MIDDLE) {
        const uint8_t *head = NULL;
        sluice_status st;

        if (scan->size - at < RECORDIO_HEAD) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the file is truncated: it ends within the record at byte %llu",
                            (unsigned long long)begin);
        }
        st = find_head(scan, at, &head);
        if (st != SLUICE_OK) {
            return st;
        }
        st = parse_part(head, at != begin, &part);
        if (st != SLUICE_OK) {
            return sli_fail_quoting(st, "at byte %llu %.300s", (unsigned long long)at,
                                    sluice_last_error());
        }
        if (part.padded > scan->size - at - RECORDIO_HEAD) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the record at byte %llu has a part of %u bytes at byte %llu, "
                            "which extends beyond the file's %llu bytes",
                            (unsigned long long)begin, part.length, (unsigned long long)at,
                            (unsigned long long)scan->size);
        }
        at += RECORDIO_HEAD + (uint64_t)part.padded;
    }
    *end_out = at;
    return SLUICE_OK;
}

sluice_status recordio_scan(int fd, uint64_t size, recordio_visit *visit, void *arg)
{
    file_scan scan = {.fd = fd, .size = size};
    uint64_t at = 0;
    sluice_status st = SLUICE_OK;

    while (at < size && st == SLUICE_OK) {
        uint64_t end = 0;

        st = find_end(&scan, at, &end);
        if (st == SLUICE_OK) {
            st = visit(arg, at, end - at);
            at = end;
        }
    }
    return st;
}

sluice_status recordio_find_size(int fd, uint64_t size, uint64_t offset, uint64_t *size_out)
{
    file_scan scan = {.fd = fd, .size = size};
    uint64_t end = offset;
    const sluice_status st = find_end(&scan, offset, &end);

    *size_out = end - offset;
    return st;
}

/* ---- one record ------------------------------------------------------------------------------ */

sluice_status recordio_measure(const uint8_t *bytes, size_t size, recordio_layout *layout_out)
{
    recordio_layout layout = {.parts = 0};
    file_part part = {.flag = PART_FIRST};
    size_t at = 0;

    while (part.flag == PART_FIRST || part.flag == PART_MIDDLE) {
        sluice_status st;

        if (size - at < RECORDIO_HEAD) {
            return sli_fail(SLUICE_E_CORRUPT, "the record is truncated");
        }
        st = parse_part(bytes + at, layout.parts > 0, &part);
        if (st != SLUICE_OK) {
            return st;
        }
        at += RECORDIO_HEAD;
        if (part.padded > size - at) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "a part of %u bytes begins where the record has %zu more bytes",
                            part.length, size - at);
        }
        layout.size += (layout.parts > 0 ? MAGIC_SIZE : 0) + (size_t)part.length;
        layout.parts++;
        at += part.padded;
    }
    if (at != size) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the record has %zu bytes, and by its index it must have %zu", at, size);
    }
    *layout_out = layout;
    return SLUICE_OK;
}

void recordio_join(const uint8_t *bytes, const recordio_layout *layout, uint8_t *to)
{
    for (uint32_t i = 0; i < layout->parts; i++) {
        file_part part = {.flag = PART_WHOLE};

        (void)parse_part(bytes, i > 0, &part);
        if (i > 0) {
            sli_put_u32(to, MAGIC);
            to += MAGIC_SIZE;
        }
        memmove(to, bytes + RECORDIO_HEAD, part.length);
        to += part.length;
        bytes += RECORDIO_HEAD + (size_t)part.padded;
    }
}

sluice_status recordio_image_parse(const uint8_t *bytes, size_t size, recordio_image *image_out)
{
    recordio_image image = {.labels = bytes + 4, .label_count = 1};
    uint32_t flag;

    if (size < RECORDIO_IMAGE_HEAD) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the record has %zu bytes, and an image record must have at least %d", size,
                        RECORDIO_IMAGE_HEAD);
    }
    flag = sli_get_u32(bytes);
    if (flag > (size - RECORDIO_IMAGE_HEAD) / sizeof(float)) {
        return sli_fail(SLUICE_E_CORRUPT, "the record has %zu bytes, too few for its %u labels",
                        size, flag);
    }
    image.id = sli_get_u64(bytes + RECORDIO_IDS);
    image.id2 = sli_get_u64(bytes + RECORDIO_IDS + 8);
    if (flag > 0) {
        image.labels = bytes + RECORDIO_IMAGE_HEAD;
        image.label_count = flag;
    }
    image.image = bytes + RECORDIO_IMAGE_HEAD + sizeof(float) * (size_t)flag;
    image.image_size = size - RECORDIO_IMAGE_HEAD - sizeof(float) * (size_t)flag;
    *image_out = image;
    return SLUICE_OK;
}

float recordio_label(const recordio_image *image, uint32_t i)
{
    const uint32_t word = sli_get_u32(image->labels + sizeof(float) * (size_t)i);
    float label;

    memcpy(&label, &word, sizeof(label));
    return label;
}
