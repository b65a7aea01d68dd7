/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* Elements are written in the byte order of the machine. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ORDER "<"
#else
#define ORDER ">"
#endif

/* The prefix is magic, version and a length of two bytes. Text follows, padded to a multiple of 64
 * bytes. */
enum { PREFIX_SIZE = 10, ALIGNMENT = 64, HEADER_SIZE = 320 };

/* Writes the type in NumPy's notation, such as "<f4"; our names of types begin with its letter.
 * bf16, which NumPy lacks, is written as u16. Returns false for encoded images, which have no type.
 */
static bool npy_type(sluice_dtype dtype, char type[32])
{
    const sluice_dtype as = dtype == SLUICE_BF16 ? SLUICE_U16 : dtype;
    const size_t size = sluice_dtype_size(as);

    snprintf(type, 32, "%s%c%zu", size == 1 ? "|" : ORDER, sluice_dtype_name(as)[0], size);
    return size > 0;
}

bool npy_write_header(FILE *file, sluice_dtype dtype, const uint64_t *shape, uint32_t rank)
{
    char type[32];
    const size_t size = HEADER_SIZE - PREFIX_SIZE;
    char header[HEADER_SIZE] = "\x93NUMPY\x01"; /* plus a 0 byte: version 1.0 */
    char *const text = header + PREFIX_SIZE;
    size_t length;
    size_t total;

    if (!npy_type(dtype, type) || rank > SLUICE_MAX_RANK + 1) {
        errno = EINVAL;
        return false;
    }
    length =
        (size_t)snprintf(text, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (uint32_t i = 0; i < rank; i++) {
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64, i > 0 ? ", " : "",
                                   shape[i]);
    }
    length += (size_t)snprintf(text + length, size - length, "%s), }", rank == 1 ? "," : "");
    total = (PREFIX_SIZE + length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(text + length, ' ', total - PREFIX_SIZE - length);
    header[total - 1] = '\n';
    header[8] = (char)((total - PREFIX_SIZE) & 0xFF);
    header[9] = (char)((total - PREFIX_SIZE) >> 8);
    return fwrite(header, 1, total, file) == total;
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Prints an error unless is_done; returns is_done. */
static bool check_file(const npy_folder *folder, uint32_t i, bool is_done)
{
    if (!is_done) {
        cli_error("cannot write %s/%s.npy: %s", folder->path, folder->columns[i].name,
                  strerror(errno));
    }
    return is_done;
}

static bool make_folder(npy_folder *folder)
{
    struct stat info;

    folder->is_made = mkdir(folder->path, 0777) == 0;
    if (folder->is_made) {
        return true;
    }
    if (errno == EEXIST && stat(folder->path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            return true;
        }
        errno = ENOTDIR;
    }
    cli_error("cannot make the folder %s: %s", folder->path, strerror(errno));
    return false;
}

static bool create_file(npy_folder *folder, uint32_t i, uint64_t rows)
{
    const sluice_column *column = &folder->columns[i];
    const size_t size = strlen(folder->path) + SLUICE_NAME_SIZE + 8;
    uint64_t shape[SLUICE_MAX_RANK + 1] = {rows};
    char *path = malloc(size);
    bool is_done = path != NULL;

    memcpy(shape + 1, column->shape, column->rank * sizeof(shape[0]));
    if (is_done && strchr(column->name, '/') != NULL) {
        is_done = false;
        errno = EINVAL;
    }
    if (is_done) {
        snprintf(path, size, "%s/%s.npy", folder->path, column->name);
        is_done = safe_file_create(&folder->files[i], path) &&
                  npy_write_header(folder->files[i].file, column->dtype, shape, column->rank + 1);
    }
    check_file(folder, i, is_done);
    free(path);
    return is_done;
}

bool npy_folder_create(npy_folder *folder, const char *path, const sluice_channel_info *info,
                       uint64_t rows)
{
    *folder = (npy_folder){.path = path, .columns = info->columns, .count = info->column_count};
    if (!make_folder(folder)) {
        return false;
    }
    for (uint32_t i = 0; i < folder->count; i++) {
        if (!create_file(folder, i, rows)) {
            return false;
        }
        if (folder->columns[i].dtype == SLUICE_BF16) {
            fprintf(stderr,
                    "sluice: column %s is bf16, a type that .npy lacks: its bits are written as "
                    "u16\n",
                    folder->columns[i].name);
        }
    }
    return true;
}

bool npy_folder_append(npy_folder *folder, const sluice_batch *batch)
{
    for (uint32_t i = 0; i < batch->input_count; i++) {
        const sluice_tensor *input = &batch->inputs[i];
        const size_t written = fwrite(input->data, 1, input->bytes, folder->files[i].file);

        if (!check_file(folder, i, written == input->bytes)) {
            return false;
        }
    }
    return true;
}

bool npy_folder_publish(npy_folder *folder)
{
    for (uint32_t i = 0; i < folder->count; i++) {
        if (!check_file(folder, i, safe_file_close(&folder->files[i]))) {
            return false;
        }
    }
    for (uint32_t i = 0; i < folder->count; i++) {
        if (!check_file(folder, i, safe_file_publish(&folder->files[i]))) {
            return false;
        }
    }
    folder->is_made = false; /* keep the folder */
    return true;
}

void npy_folder_discard(npy_folder *folder)
{
    for (uint32_t i = 0; i < folder->count; i++) {
        safe_file_discard(&folder->files[i]);
    }
    if (folder->is_made) {
        (void)rmdir(folder->path);
    }
    memset(folder, 0, sizeof(*folder));
}
