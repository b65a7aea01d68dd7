/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cifar10: the binary form of CIFAR-10 (Krizhevsky 2009). A file is records of 3073 bytes: the
 * label, then 1024 bytes each of red, green and blue, row-major.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "stage.h"
#include "status_int.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, RECORD = 1 + 3 * PLANE, MAX_FILES = 5 };

/* By label, in the order of batches.meta.txt. */
static const char *const class_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                          "dog",      "frog",       "horse", "ship", "truck"};

enum { CLASSES = sizeof(class_names) / sizeof(class_names[0]) };

static const char *const splits[] = {"train", "test", NULL};

typedef struct cifar_args {
    const char *dir;
    uint32_t split;
} cifar_args;

typedef struct cifar10 {
    uint32_t file_count;
    int fds[MAX_FILES];
    uint64_t records[MAX_FILES];
    char names[MAX_FILES][32];
    uint64_t count;
} cifar10;

static void cifar_close(void *source)
{
    cifar10 *cifar = source;

    for (uint32_t i = 0; i < cifar->file_count; i++) {
        close(cifar->fds[i]);
    }
    sli_free(cifar);
}

/*
 * Opens dir/NAME or, if it does not exist, dir/cifar-10-batches-bin/NAME; -1 and errno on failure.
 */
static int open_either(const char *dir, const char *name)
{
    int folder_fd = sli_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    int fd = -1;
    int error = errno;

    if (folder_fd >= 0) {
        char inner[64];

        /* Non-blocking: open() of a FIFO would block. */
        fd = sli_openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, NULL);
        if (fd < 0 && errno == ENOENT) {
            snprintf(inner, sizeof(inner), "cifar-10-batches-bin/%s", name);
            fd = sli_openat(folder_fd, inner, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, NULL);
        }
        error = errno;
        close(folder_fd);
    }
    errno = error;
    return fd;
}

/* Opens the next file. */
static sluice_status open_file(cifar10 *cifar, const char *dir, const char *name)
{
    struct stat info;
    int fd = open_either(dir, name);

    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno,
                              "cifar10: cannot open %s in %s or in its folder "
                              "cifar-10-batches-bin",
                              name, dir);
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size % RECORD != 0 ||
        info.st_size == 0) {
        close(fd);
        return sli_fail(SLUICE_E_CORRUPT,
                        "cifar10: %s of %s is no sequence of records of %d bytes; this reads the "
                        "binary version of CIFAR-10",
                        name, dir, RECORD);
    }
    snprintf(cifar->names[cifar->file_count], sizeof(cifar->names[0]), "%s", name);
    cifar->fds[cifar->file_count] = fd;
    cifar->records[cifar->file_count] = (uint64_t)info.st_size / RECORD;
    cifar->count += cifar->records[cifar->file_count++];
    return SLUICE_OK;
}

static sluice_status cifar_open(const void *opaque, void **source_out)
{
    const cifar_args *args = opaque;
    cifar10 *cifar = sli_calloc(1, sizeof(*cifar));
    sluice_status st = SLUICE_OK;

    if (cifar == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "cifar10 %s", args->dir);
    }
    if (args->split == 1) {
        st = open_file(cifar, args->dir, "test_batch.bin");
    }
    for (int i = 1; i <= MAX_FILES && args->split == 0 && st == SLUICE_OK; i++) {
        char name[32];

        snprintf(name, sizeof(name), "data_batch_%d.bin", i);
        st = open_file(cifar, args->dir, name);
    }
    if (st != SLUICE_OK) {
        cifar_close(cifar);
        return st;
    }
    *source_out = cifar;
    return SLUICE_OK;
}

static uint64_t cifar_count(const void *source)
{
    return ((const cifar10 *)source)->count;
}

static uint64_t cifar_memory(const void *source)
{
    (void)source;
    return sizeof(cifar10);
}

/* The file of a sample; *index becomes its record number there. */
static uint32_t file_of(const cifar10 *cifar, uint64_t *index)
{
    uint32_t file = 0;

    while (file + 1 < cifar->file_count && *index >= cifar->records[file]) {
        *index -= cifar->records[file++];
    }
    return file;
}

static void cifar_name(const void *source, uint64_t index, char *text, size_t size)
{
    const cifar10 *cifar = source;
    uint32_t file = file_of(cifar, &index);

    snprintf(text, size, "%s:%llu", cifar->names[file], (unsigned long long)index);
}

static sluice_status cifar_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                                sample_data *data_out)
{
    const cifar10 *cifar = source;
    uint32_t file = file_of(cifar, &index);
    sluice_status st = image_buffer_reserve(&io->bytes, RECORD + 3 * PLANE);
    const uint8_t *record = io->bytes.data;
    uint8_t *pixels;
    ssize_t got;

    if (st != SLUICE_OK) {
        return st;
    }
    got = pread(cifar->fds[file], io->bytes.data, RECORD, (off_t)(index * RECORD));
    if (got != RECORD) {
        return got < 0 ? sli_fail_errno(SLUICE_E_IO, errno, "cannot read")
                       : sli_fail(SLUICE_E_CORRUPT, "the file ends within the record");
    }
    if (record[0] >= CLASSES) {
        return sli_fail(SLUICE_E_CORRUPT, "label %u, want 0 to %d", record[0], CLASSES - 1);
    }
    if (row[1] != NULL) {
        *(int32_t *)row[1] = record[0];
    }
    pixels = io->bytes.data + RECORD;
    for (int i = 0; i < PLANE; i++) {
        pixels[3 * i] = record[1 + i];
        pixels[3 * i + 1] = record[1 + PLANE + i];
        pixels[3 * i + 2] = record[1 + 2 * PLANE + i];
    }
    io->bytes_read += RECORD;
    data_out->image = (image_view){pixels, 3 * SIDE, SIDE, SIDE, 3};
    return SLUICE_OK;
}

static uint32_t cifar_classes(const void *source)
{
    (void)source;
    return CLASSES;
}

static void cifar_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    (void)source;
    snprintf(text, size, "%s", class_names[label]);
}

static const source_ops cifar_ops = {
    .open = cifar_open,
    .close = cifar_close,
    .count = cifar_count,
    .name = cifar_name,
    .read = cifar_read,
    .memory = cifar_memory,
    .classes = cifar_classes,
    .class_name = cifar_class_name,
};

static sluice_status cifar_infer(const void *args, stage_schema *schema)
{
    (void)args;
    schema->column_count = 2;
    schema->columns[0] =
        (sluice_column){.name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {SIDE, SIDE, 3}};
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->image = 0;
    return SLUICE_OK;
}

static const stage_param cifar_params[] = {
    PARAM_(cifar_args, dir, PARAM_TEXT, NULL, 0, 0, NULL, "the folder of the .bin files"),
    PARAM_(cifar_args, split, PARAM_CHOICE, "train", 0, 0, splits, "part of the dataset"),
};

const stage_def stage_cifar10 = {
    .name = "cifar10",
    .summary = "CIFAR-10 in the binary version, in DIR or DIR/cifar-10-batches-bin.",
    .gives = "image u8 (32, 32, 3), label i32",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(cifar_params),
    .args_size = sizeof(cifar_args),
    .infer = cifar_infer,
    .source = &cifar_ops,
};

sluice_status sluice_dataset_cifar10(const char *dir, const char *split,
                                     sluice_dataset **dataset_out)
{
    cifar_args args = {.dir = dir};
    sluice_status st = stage_arg_choose(&stage_cifar10, "split", split, &args.split);

    return st == SLUICE_OK ? dataset_begin(&stage_cifar10, &args, dataset_out) : st;
}
