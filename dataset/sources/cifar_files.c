/* SPDX-License-Identifier: Apache-2.0 */
#include "cifar_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compressed_file.h"
#include "descriptor_int.h"
#include "error_int.h"
#include "status_int.h"

const sluice_column cifar_image = {
    .name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {CIFAR_SIDE, CIFAR_SIDE, 3}};

static size_t record_bytes(const cifar_files *files)
{
    return files->kind->label_bytes + 3 * (size_t)CIFAR_PLANE;
}

/*
 * Opens dir/NAME or, if that does not exist, dir/FOLDER/NAME. Returns -1 with errno set on failure.
 */
static int open_either(const char *dir, const char *folder, const char *name)
{
    int folder_fd = sli_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    int fd = -1;
    int error = errno;

    if (folder_fd >= 0) {
        char inner[64];

        /* Non-blocking: open() of a FIFO would block. */
        fd = sli_openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, NULL);
        if (fd < 0 && errno == ENOENT) {
            snprintf(inner, sizeof(inner), "%s/%s", folder, name);
            fd = sli_openat(folder_fd, inner, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, NULL);
        }
        error = errno;
        close(folder_fd);
    }
    errno = error;
    return fd;
}

sluice_status cifar_files_add(cifar_files *files, const char *dir, const char *name)
{
    const cifar_kind *kind = files->kind;
    const uint64_t bytes = record_bytes(files);
    struct stat info;
    int fd = open_either(dir, kind->folder, name);
    sluice_status st;

    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "%s: cannot open %s in %s or in its folder %s",
                              kind->source, name, dir, kind->folder);
    }
    st = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? compressed_file_refuse(fd, NULL)
                                                        : SLUICE_OK;
    if (st != SLUICE_OK) {
        sli_error error;

        close(fd);
        sli_error_take(st, &error);
        return sli_fail(st, "%s: %s in %s: %.300s", kind->source, name, dir, error.text);
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0 ||
        (uint64_t)info.st_size % bytes != 0) {
        close(fd);
        return sli_fail(SLUICE_E_CORRUPT,
                        "%s: the size of %s in %s must be a multiple of %llu bytes, one or more "
                        "records; this source reads the binary version of %s",
                        kind->source, name, dir, (unsigned long long)bytes, kind->dataset);
    }
    snprintf(files->names[files->file_count], sizeof(files->names[0]), "%s", name);
    files->fds[files->file_count] = fd;
    files->records[files->file_count] = (uint64_t)info.st_size / bytes;
    files->count += files->records[files->file_count++];
    return SLUICE_OK;
}

void cifar_files_close(cifar_files *files)
{
    for (uint32_t i = 0; i < files->file_count; i++) {
        close(files->fds[i]);
    }
    files->file_count = 0;
}

uint64_t cifar_files_count(const void *source)
{
    return ((const cifar_files *)source)->count;
}

/* Finds the file of a sample; *index becomes the number of its record in that file. */
static uint32_t file_of(const cifar_files *files, uint64_t *index)
{
    uint32_t file = 0;

    while (file + 1 < files->file_count && *index >= files->records[file]) {
        *index -= files->records[file++];
    }
    return file;
}

void cifar_files_name(const void *source, uint64_t index, char *text, size_t size)
{
    const cifar_files *files = source;
    const uint32_t file = file_of(files, &index);

    snprintf(text, size, "%s:%llu", files->names[file], (unsigned long long)index);
}

sluice_status cifar_files_read(const cifar_files *files, uint64_t index, sample_io *io,
                               const uint8_t **labels_out, sample_data *data_out)
{
    const size_t bytes = record_bytes(files);
    const uint32_t file = file_of(files, &index);
    sluice_status st = image_buffer_reserve(&io->bytes, bytes + 3 * (size_t)CIFAR_PLANE);
    const uint8_t *planes;
    uint8_t *pixels;
    ssize_t got;

    if (st != SLUICE_OK) {
        return st;
    }
    got = pread(files->fds[file], io->bytes.data, bytes, (off_t)(index * bytes));
    if (got < 0 || (size_t)got != bytes) {
        return got < 0 ? sli_fail_errno(SLUICE_E_IO, errno, "cannot read")
                       : sli_fail(SLUICE_E_CORRUPT, "the file ends within the record");
    }
    planes = io->bytes.data + files->kind->label_bytes;
    pixels = io->bytes.data + bytes;
    for (int i = 0; i < CIFAR_PLANE; i++) {
        pixels[3 * i] = planes[i];
        pixels[3 * i + 1] = planes[CIFAR_PLANE + i];
        pixels[3 * i + 2] = planes[2 * CIFAR_PLANE + i];
    }
    io->bytes_read += bytes;
    *labels_out = io->bytes.data;
    data_out->image = (image_view){pixels, (size_t)3 * CIFAR_SIDE, CIFAR_SIDE, CIFAR_SIDE, 3};
    return SLUICE_OK;
}

sluice_status cifar_files_read_labels(const cifar_files *files, uint64_t index, sample_io *io,
                                      uint8_t labels_out[2])
{
    const size_t bytes = files->kind->label_bytes;
    const uint32_t file = file_of(files, &index);
    const ssize_t got =
        pread(files->fds[file], labels_out, bytes, (off_t)(index * record_bytes(files)));

    if (got < 0 || (size_t)got != bytes) {
        return got < 0 ? sli_fail_errno(SLUICE_E_IO, errno, "cannot read")
                       : sli_fail(SLUICE_E_CORRUPT, "the file ends before the record");
    }
    io->bytes_read += bytes;
    return SLUICE_OK;
}

sluice_status cifar_check_label(uint32_t label, uint32_t classes)
{
    return label < classes ? SLUICE_OK
                           : sli_fail(SLUICE_E_CORRUPT,
                                      "its label is %u, and must be 0 to %u; the file is corrupt, "
                                      "or of another data set",
                                      label, classes - 1);
}
