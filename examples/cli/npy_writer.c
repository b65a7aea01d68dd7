/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Elements are written as they are in memory. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

/* Version 1.0: magic, version and a length of two bytes; then text up to a multiple of 64 bytes. */
enum { PREFIX_SIZE = 10, ALIGNMENT = 64, HEADER_SIZE = 320 };

const char *npy_type(sluice_dtype dtype)
{
    switch (dtype) {
    case SLUICE_U8:
        return "|u1";
    case SLUICE_I8:
        return "|i1";
    case SLUICE_U16:
    case SLUICE_BF16:
        return ORDER "u2";
    case SLUICE_U32:
        return ORDER "u4";
    case SLUICE_I32:
        return ORDER "i4";
    case SLUICE_I64:
        return ORDER "i8";
    case SLUICE_F16:
        return ORDER "f2";
    case SLUICE_F32:
        return ORDER "f4";
    case SLUICE_ENCODED:
        break;
    }
    return NULL;
}

/* Writes the header to `header` (HEADER_SIZE); returns its bytes. */
static size_t make_header(char *header, const char *type, const uint64_t *shape, uint32_t rank)
{
    char *const text = header + PREFIX_SIZE;
    const size_t size = HEADER_SIZE - PREFIX_SIZE;
    size_t length =
        (size_t)snprintf(text, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    size_t total;

    for (uint32_t i = 0; i < rank; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64, i > 0 ? ", " : "",
                                   shape[i]);
    }
    length += (size_t)snprintf(text + length, size - length, "%s), }", rank == 1 ? "," : "");
    total = (PREFIX_SIZE + length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + length, ' ', total - PREFIX_SIZE - length);
    header[total - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01", 8); /* with version 1.0's second byte, 0 */
    header[8] = (char)((total - PREFIX_SIZE) & 0xFF);
    header[9] = (char)((total - PREFIX_SIZE) >> 8);
    return total;
}

/* Sets the names; false: no memory. */
static bool make_names(npy_writer *writer, const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 32;

    writer->path = malloc(size);
    writer->temporary = malloc(size);
    if (writer->path == NULL || writer->temporary == NULL) {
        errno = ENOMEM;
        return false;
    }
    snprintf(writer->path, size, "%s/%s.npy", folder, name);
    snprintf(writer->temporary, size, "%s/.%s.npy.%ld", folder, name, (long)getpid());
    return true;
}

bool npy_create(npy_writer *writer, const char *folder, const char *name, sluice_dtype dtype,
                const uint64_t *shape, uint32_t rank)
{
    const char *type = npy_type(dtype);
    char header[HEADER_SIZE];

    if (type == NULL || rank > SLUICE_MAX_RANK + 1 || strchr(name, '/') != NULL) {
        errno = EINVAL;
        return false;
    }
    if (!make_names(writer, folder, name)) {
        return false;
    }
    writer->file = fopen(writer->temporary, "wbx");
    if (writer->file == NULL) {
        const int error = errno;

        free(writer->temporary); /* what has this name is another's */
        writer->temporary = NULL;
        errno = error;
        return false;
    }
    return npy_append(writer, header, make_header(header, type, shape, rank));
}

bool npy_append(npy_writer *writer, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, writer->file) == bytes;
}

bool npy_close(npy_writer *writer)
{
    FILE *const file = writer->file;
    bool is_whole = fflush(file) == 0;
    const int error = errno;

    writer->file = NULL;
    if (fclose(file) != 0) {
        return false;
    }
    errno = is_whole ? 0 : error;
    return is_whole;
}

bool npy_publish(npy_writer *writer)
{
    if (rename(writer->temporary, writer->path) != 0) {
        return false;
    }
    free(writer->temporary);
    writer->temporary = NULL;
    return true;
}

void npy_discard(npy_writer *writer)
{
    if (writer->file != NULL) {
        (void)fclose(writer->file);
    }
    if (writer->temporary != NULL) {
        (void)unlink(writer->temporary);
    }
    free(writer->temporary);
    free(writer->path);
    memset(writer, 0, sizeof(*writer));
}
