/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `mnist`: images and labels in IDX files, the format of MNIST, Fashion-MNIST, KMNIST and
 * EMNIST. Labels are stored in memory, one byte per sample. Images are read when needed; if their
 * file is compressed, they are stored in memory, too.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc_int.h"
#include "compression.h"
#include "conversion_int.h"
#include "error_int.h"
#include "file_list.h"
#include "idx_file.h"
#include "mnist_files.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

static const file_list_kind mnist_list_kind = {"mnist", ".idx", false};

static const char *const splits[] = {"train", "test", NULL};

typedef struct mnist_args {
    const char *files;
    uint32_t split; /* index in splits */
} mnist_args;

typedef struct mnist_source {
    idx_file images;
    idx_file labels; /* the label file; rank 0: no labels */
    uint32_t height;
    uint32_t width;
    uint32_t channels;
    char name[NAME_MAX + 1]; /* name of the image file, without the suffix of a compression */
} mnist_source;

static void mnist_close(void *source)
{
    mnist_source *mnist = source;

    idx_file_close(&mnist->images);
    idx_file_close(&mnist->labels);
    sli_free(mnist);
}

/* ---- opening --------------------------------------------------------------------------------- */

/*
 * Checks that the file has images, of shape (samples, height, width) or (samples, height, width,
 * channels), and stores their size.
 */
static sluice_status check_images(const char *path, const idx_header *header, mnist_source *mnist)
{
    const uint64_t channels = header->rank == 4 ? header->shape[3] : 1;

    if (header->rank < 3 || header->shape[1] > UINT16_MAX || header->shape[2] > UINT16_MAX ||
        channels > SLI_MAX_CHANNELS) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s has %u dimensions, sides of %llu and %llu and %llu channels; images "
                        "must have 3 or 4 dimensions, sides of at most %d and at most %d channels",
                        path, header->rank,
                        header->rank > 1 ? (unsigned long long)header->shape[1] : 0,
                        header->rank > 2 ? (unsigned long long)header->shape[2] : 0,
                        (unsigned long long)channels, UINT16_MAX, SLI_MAX_CHANNELS);
    }
    if (header->shape[0] == 0) {
        return sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: %s has no samples", path);
    }
    mnist->height = (uint32_t)header->shape[1];
    mnist->width = (uint32_t)header->shape[2];
    mnist->channels = (uint32_t)channels;
    return SLUICE_OK;
}

static sluice_status check_labels(const char *path, const idx_header *header,
                                  const char *images_path, const idx_header *images)
{
    if (header->rank != 1) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s has %u dimensions, and labels must have 1: a byte for each sample",
                        path, header->rank);
    }
    return header->shape[0] == images->shape[0]
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s has %llu labels and %s has %llu images; their numbers must be equal",
                          path, (unsigned long long)header->shape[0], images_path,
                          (unsigned long long)images->shape[0]);
}

/* Opens the files of images and labels; labels NULL: images only. */
static sluice_status open_pair(const char *images, const char *labels, mnist_source *mnist)
{
    const char *slash = strrchr(images, '/');
    sluice_status st = idx_file_open(images, false, &mnist->images);

    if (st == SLUICE_OK) {
        st = check_images(images, &mnist->images.header, mnist);
    }
    if (st == SLUICE_OK && labels != NULL) {
        st = idx_file_open(labels, true, &mnist->labels);
    }
    if (st == SLUICE_OK && labels != NULL) {
        st = check_labels(labels, &mnist->labels.header, images, &mnist->images.header);
    }
    snprintf(mnist->name, sizeof(mnist->name), "%s", slash != NULL ? slash + 1 : images);
    if (compression_has_suffix(mnist->name)) {
        *strrchr(mnist->name, '.') = '\0';
    }
    return st;
}

static sluice_status open_list(const mnist_args *args, mnist_source *mnist)
{
    file_list list = {.kind = NULL};
    sluice_status st = file_list_make(args->files, &mnist_list_kind, &list);

    if (st != SLUICE_OK) {
        return st;
    }
    if (list.count > 2) {
        st = sli_fail(SLUICE_E_INVALID, "%zu files: must be IMAGES,LABELS, or IMAGES alone",
                      list.count);
    } else {
        st = open_pair(list.paths[0], list.count == 2 ? list.paths[1] : NULL, mnist);
    }
    if (st == SLUICE_OK && args->split != 0) { /* of a folder that is missing, that is the news */
        st = sli_fail(SLUICE_E_INVALID,
                      "split=%s chooses files of a folder, and %s names files: leave split out",
                      splits[args->split], args->files);
    }
    file_list_free(&list);
    return st;
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static sluice_status open_folder(const mnist_args *args, mnist_source *mnist)
{
    mnist_paths *paths = sli_calloc(1, sizeof(*paths));
    sluice_status st;

    if (paths == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the paths of the files of %s", args->files);
    }
    st = mnist_files_find(args->files, args->split == 1, paths);
    if (st == SLUICE_OK) {
        st = open_pair(paths->images, paths->labels, mnist);
    }
    sli_free(paths);
    return st;
}

static sluice_status mnist_open(const void *opaque, void **source_out)
{
    const mnist_args *args = opaque;
    mnist_source *mnist = sli_calloc(1, sizeof(*mnist));
    sluice_status st;
    sli_error error;

    if (mnist == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "mnist %s", args->files);
    }
    mnist->images.fd = -1;
    mnist->labels.fd = -1;
    st = is_folder(args->files) ? open_folder(args, mnist) : open_list(args, mnist);
    if (st != SLUICE_OK) {
        mnist_close(mnist);
        sli_error_take(st, &error);
        return strncmp(error.text, "mnist: ", 7) == 0
                   ? sli_error_raise(&error)
                   : sli_fail_with(st, error.error_number, "mnist: %s", error.text);
    }
    *source_out = mnist;
    return SLUICE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t mnist_count(const void *source)
{
    return ((const mnist_source *)source)->images.header.shape[0];
}

static uint64_t mnist_memory(const void *source)
{
    const mnist_source *mnist = source;

    return sizeof(*mnist) + mnist->images.memory + mnist->labels.memory;
}

static void mnist_name(const void *source, uint64_t index, char *text, size_t size)
{
    snprintf(text, size, "%s:%llu", ((const mnist_source *)source)->name,
             (unsigned long long)index);
}

static sluice_status mnist_read_plain(const void *source, uint64_t index, sample_io *io,
                                      void *const *row)
{
    const mnist_source *mnist = source;

    (void)io;
    if (mnist->labels.bytes != NULL && row[1] != NULL) {
        *(int32_t *)row[1] = idx_file_rows(&mnist->labels)[index];
    }
    return SLUICE_OK;
}

static sluice_status mnist_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                                sample_data *data_out)
{
    const mnist_source *mnist = source;
    const size_t bytes = (size_t)mnist->images.header.row_bytes;
    const uint8_t *pixels = idx_file_rows(&mnist->images);
    sluice_status st = SLUICE_OK;

    if (pixels != NULL) {
        pixels += index * bytes;
    } else {
        st = image_buffer_reserve(&io->bytes, bytes);
        if (st == SLUICE_OK) {
            st = idx_file_read(&mnist->images, index, io->bytes.data);
        }
        if (st != SLUICE_OK) {
            return st;
        }
        pixels = io->bytes.data;
        io->bytes_read += bytes;
    }
    data_out->image = (image_view){pixels,          (size_t)mnist->width * mnist->channels,
                                   mnist->width,    mnist->height,
                                   mnist->channels, IMAGE_U8};
    return mnist_read_plain(source, index, io, row);
}

static const source_ops mnist_ops = {
    .open = mnist_open,
    .close = mnist_close,
    .count = mnist_count,
    .name = mnist_name,
    .read = mnist_read,
    .read_plain = mnist_read_plain,
    .memory = mnist_memory,
};

static sluice_status mnist_schema(const void *source, stage_schema *schema)
{
    const mnist_source *mnist = source;

    schema->column_count = mnist->labels.bytes != NULL ? 2 : 1;
    schema->columns[0] = (sluice_column){.name = "image",
                                         .dtype = SLUICE_U8,
                                         .rank = 3,
                                         .shape = {mnist->height, mnist->width, mnist->channels}};
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->image = 0;
    return SLUICE_OK;
}

static const stage_param mnist_params[] = {
    PARAM_(mnist_args, files, PARAM_TEXT, NULL, 0, 0, NULL,
           "the folder of the files, or the files themselves: IMAGES,LABELS, or IMAGES alone"),
    PARAM_(mnist_args, split, PARAM_CHOICE, "train", 0, 0, splits,
           "which files of a folder; part= is an alias"),
};

const stage_def stage_mnist = {
    .name = "mnist",
    .summary = "MNIST, Fashion-MNIST, KMNIST, EMNIST: IDX files of images and labels, plain or "
               "compressed (.gz).",
    .elsewhere = "MnistDataset MNIST FashionMNIST KMNIST EMNIST",
    .gives = "image u8 (H, W, 1), label i32; of IMAGES alone no label",
    .details = "A folder, or its subfolder raw, has [PREFIX]train-images-idx3-ubyte and "
               "[PREFIX]train-labels-idx1-ubyte, or for the test part [PREFIX]t10k-... or "
               "[PREFIX]test-..., with or without a suffix such as .gz. Files may be "
               "compressed by gzip, zstd, xz or bzip2; then they are stored in memory, at most "
               "4 GiB each. They are opened when the source is added.\n"
               "Images are u8 (height, width, 1), or with a fourth dimension (height, width, "
               "channels); a label is one byte.\n"
               "Errors: E_CORRUPT a file that is not an IDX file, or whose length contradicts "
               "its header; E_UNSUPPORTED elements that are not bytes, or dimensions that are "
               "not those of images or labels; E_INVALID a folder without such files or with "
               "files of several prefixes, or different numbers of images and labels; E_IO. "
               "The message has the file.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(mnist_params),
    .args_size = sizeof(mnist_args),
    .source =
        &(const source_stage_ops){
            .ops = &mnist_ops,
            .schema = mnist_schema,
        },
};
