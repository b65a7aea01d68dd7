/* SPDX-License-Identifier: Apache-2.0 */
#include "zip_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy_kit.h"

/* Appends a number, least significant byte first. */
static void put(uint8_t *to, size_t *at, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[(*at)++] = (uint8_t)(number >> (8 * i));
    }
}

static void put_bytes(uint8_t *to, size_t *at, const void *bytes, size_t size)
{
    memcpy(to + *at, bytes, size);
    *at += size;
}

static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xFFFFFFFF;

    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
        }
    }
    return ~crc;
}

/* Appends blocks of deflate without compression; returns their size. */
static size_t put_blocks(zip_kit *zip, const uint8_t *bytes, size_t size)
{
    const size_t begin = zip->size;
    size_t done = 0;

    do {
        const size_t now = size - done < 65535 ? size - done : 65535;

        put(zip->bytes, &zip->size, done + now == size, 1);
        put(zip->bytes, &zip->size, now, 2);
        put(zip->bytes, &zip->size, ~now, 2);
        put_bytes(zip->bytes, &zip->size, bytes + done, now);
        done += now;
    } while (done < size);
    return zip->size - begin;
}

/* The fields from the method to the lengths, which both records have. */
static void put_common(uint8_t *to, size_t *at, uint16_t method, uint32_t crc, uint64_t packed,
                       uint64_t size)
{
    put(to, at, 0, 2); /* flags */
    put(to, at, method, 2);
    put(to, at, 0, 4); /* time */
    put(to, at, crc, 4);
    put(to, at, packed, 4);
    put(to, at, size, 4);
}

void zip_add(zip_kit *zip, const char *name, uint16_t method, const void *bytes, size_t size)
{
    const size_t local = zip->size;
    const size_t length = strlen(name);
    const uint32_t crc = crc32_of(bytes, size);
    const uint32_t in_zip64 = 0xFFFFFFFF;
    size_t packed = size;
    size_t at;
    uint8_t *to = zip->directory;

    if (size + 400 > sizeof(zip->bytes) - zip->size || zip->members == ZIP_KIT_MEMBERS) {
        abort();
    }
    zip->size += 30;
    put_bytes(zip->bytes, &zip->size, name, length);
    if (method == 8) {
        packed = put_blocks(zip, bytes, size);
    } else {
        put_bytes(zip->bytes, &zip->size, bytes, size);
    }
    at = local;
    put(zip->bytes, &at, 0x04034B50, 4);
    put(zip->bytes, &at, 20, 2);
    put_common(zip->bytes, &at, method, crc, packed, size);
    put(zip->bytes, &at, length, 2);
    put(zip->bytes, &at, 0, 2);
    at = zip->directory_size;
    put(to, &at, 0x02014B50, 4);
    put(to, &at, 20, 2);
    put(to, &at, 20, 2);
    put_common(to, &at, method, crc, zip->is_zip64 ? in_zip64 : packed,
               zip->is_zip64 ? in_zip64 : size);
    put(to, &at, length, 2);
    put(to, &at, zip->is_zip64 ? 28 : 0, 2);
    put(to, &at, 0, 8); /* comment, disk, attributes */
    put(to, &at, 0, 2);
    put(to, &at, zip->is_zip64 ? in_zip64 : local, 4);
    put_bytes(to, &at, name, length);
    if (zip->is_zip64) {
        put(to, &at, 1, 2);
        put(to, &at, 24, 2);
        put(to, &at, size, 8);
        put(to, &at, packed, 8);
        put(to, &at, local, 8);
    }
    zip->directory_size = at;
    zip->members++;
}

void zip_add_npy(zip_kit *zip, const char *name, uint16_t method, const char *descr,
                 const char *shape, const void *data, size_t size)
{
    uint8_t *bytes = malloc(1000 + size);
    char dict[500];
    size_t head;

    if (bytes == NULL) {
        abort();
    }
    snprintf(dict, sizeof(dict), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr,
             shape);
    head = npy_head(1, dict, bytes);
    memcpy(bytes + head, data, size);
    zip_add(zip, name, method, bytes, head + size);
    free(bytes);
}

void zip_end(zip_kit *zip)
{
    uint8_t *to = zip->bytes;
    size_t end64;

    zip->directory_at = zip->size;
    put_bytes(to, &zip->size, zip->directory, zip->directory_size);
    end64 = zip->size;
    if (zip->is_zip64) {
        put(to, &zip->size, 0x06064B50, 4);
        put(to, &zip->size, 44, 8);
        put(to, &zip->size, 45, 2);
        put(to, &zip->size, 45, 2);
        put(to, &zip->size, 0, 8);
        put(to, &zip->size, zip->members, 8);
        put(to, &zip->size, zip->members, 8);
        put(to, &zip->size, zip->directory_size, 8);
        put(to, &zip->size, zip->directory_at, 8);
        put(to, &zip->size, 0x07064B50, 4);
        put(to, &zip->size, 0, 4);
        put(to, &zip->size, end64, 8);
        put(to, &zip->size, 1, 4);
    }
    put(to, &zip->size, 0x06054B50, 4);
    put(to, &zip->size, 0, 4);
    put(to, &zip->size, zip->is_zip64 ? 0xFFFF : zip->members, 2);
    put(to, &zip->size, zip->is_zip64 ? 0xFFFF : zip->members, 2);
    put(to, &zip->size, zip->is_zip64 ? 0xFFFFFFFF : zip->directory_size, 4);
    put(to, &zip->size, zip->is_zip64 ? 0xFFFFFFFF : zip->directory_at, 4);
    put(to, &zip->size, 0, 2);
}
