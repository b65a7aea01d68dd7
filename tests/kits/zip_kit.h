/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives for tests, as numpy and others write them. */
#ifndef SLUICE_ZIP_KIT_H
#define SLUICE_ZIP_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ZIP_KIT_MOST = 1 << 17, ZIP_KIT_MEMBERS = 20 };

typedef struct zip_kit {
    uint8_t bytes[ZIP_KIT_MOST];
    size_t size;
    size_t directory_at;                      /* once zip_end() was called */
    uint8_t directory[ZIP_KIT_MEMBERS * 120]; /* records of the members so far */
    size_t directory_size;
    size_t members;
    bool is_zip64; /* lengths, offsets and the end record have 64 bits */
} zip_kit;

/* Adds a member; method 8 compresses it into stored blocks of deflate, others copy its bytes. */
void zip_add(zip_kit *zip, const char *name, uint16_t method, const void *bytes, size_t size);

/* Adds a .npy member. */
void zip_add_npy(zip_kit *zip, const char *name, uint16_t method, const char *descr,
                 const char *shape, const void *data, size_t size);

/* Writes the directory and the end record. */
void zip_end(zip_kit *zip);

#endif
