/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources `cifar10` and `cifar100`: the binary versions of CIFAR-10 and CIFAR-100 (Krizhevsky
 * 2009). A file is a sequence of records. A record is one label, or a coarse and a fine one, of one
 * byte each, then 1024 bytes each of red, green and blue, row-major.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "compressed_file.h"
#include "descriptor_int.h"
#include "source_stage_ops.h"
#include "status_int.h"

/* Indexed by label: the order of batches.meta.txt. */
static const char *const class_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                          "dog",      "frog",       "horse", "ship", "truck"};

/* Indexed by label: the order of coarse_label_names.txt. */
static const char *const coarse_names[] = {
    "aquatic_mammals",
    "fish",
    "flowers",
    "food_containers",
    "fruit_and_vegetables",
    "household_electrical_devices",
    "household_furniture",
    "insects",
    "large_carnivores",
    "large_man-made_outdoor_things",
    "large_natural_outdoor_scenes",
    "large_omnivores_and_herbivores",
    "medium_mammals",
    "non-insect_invertebrates",
    "people",
    "reptiles",
    "small_mammals",
    "trees",
    "vehicles_1",
    "vehicles_2",
};

/* Indexed by label: the order of fine_label_names.txt. */
static const char *const fine_names[] = {
    "apple",       "aquarium_fish", "baby",      "bear",       "beaver",       "bed",
    "bee",         "beetle",        "bicycle",   "bottle",     "bowl",         "boy",
    "bridge",      "bus",           "butterfly", "camel",      "can",          "castle",
    "caterpillar", "cattle",        "chair",     "chimpanzee", "clock",        "cloud",
    "cockroach",   "couch",         "crab",      "crocodile",  "cup",          "dinosaur",
    "dolphin",     "elephant",      "flatfish",  "forest",     "fox",          "girl",
    "hamster",     "house",         "kangaroo",  "keyboard",   "lamp",         "lawn_mower",
    "leopard",     "lion",          "lizard",    "lobster",    "man",          "maple_tree",
    "motorcycle",  "mountain",      "mouse",     "mushroom",   "oak_tree",     "orange",
    "orchid",      "otter",         "palm_tree", "pear",       "pickup_truck", "pine_tree",
    "plain",       "plate",         "poppy",     "porcupine",  "possum",       "rabbit",
    "raccoon",     "ray",           "road",      "rocket",     "rose",         "sea",
    "seal",        "shark",         "shrew",     "skunk",      "skyscraper",   "snail",
    "snake",       "spider",        "squirrel",  "streetcar",  "sunflower",    "sweet_pepper",
    "table",       "tank",          "telephone", "television", "tiger",        "tractor",
    "train",       "trout",         "tulip",     "turtle",     "wardrobe",     "whale",
    "willow_tree", "wolf",          "woman",     "worm",
};

enum {
    SIDE = 32,
    PLANE = SIDE * SIDE,
    MOST_FILES = 5,
    CLASSES = sizeof(class_names) / sizeof(class_names[0]),
    COARSE = sizeof(coarse_names) / sizeof(coarse_names[0]),
    FINE = sizeof(fine_names) / sizeof(fine_names[0])
};

static const char *const splits[] = {"train", "test", NULL};

/* Values of the argument `label`. */
enum { LABEL_FINE, LABEL_COARSE, LABEL_BOTH };

static const char *const labels[] = {"fine", "coarse", "both", NULL};

/* The arguments of both sources. */
typedef struct cifar_args {
    const char *dir;
    uint32_t split;
    uint32_t label; /* of cifar100 */
} cifar_args;

/* Describes one of the two datasets. */
typedef struct cifar_kind {
    const char *source;  /* name of the source, for messages */
    const char *dataset; /* name of the dataset, for messages */
    const char *folder;  /* folder in the dataset's archive */
    uint32_t label_bytes;
    const char *const *names; /* of the last label of a record, and their number */
    uint32_t classes;
} cifar_kind;

static const cifar_kind cifar10 = {
    "cifar10", "CIFAR-10", "cifar-10-batches-bin", 1, class_names, CLASSES,
};

static const cifar_kind cifar100 = {
    "cifar100", "CIFAR-100", "cifar-100-binary", 2, fine_names, FINE,
};

typedef struct cifar_source {
    const cifar_kind *kind;
    uint32_t label;
    uint32_t file_count;
    int fds[MOST_FILES];
    uint64_t records[MOST_FILES];
    char names[MOST_FILES][32];
    uint64_t count;
} cifar_source;

/* ---- opening --------------------------------------------------------------------------------- */

static size_t record_bytes(const cifar_source *cifar)
{
    return cifar->kind->label_bytes + 3 * (size_t)PLANE;
}

/* Opens dir/NAME or else dir/FOLDER/NAME. Returns -1 with errno set on failure. */
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

/*
 * Opens dir/NAME or, if that does not exist, dir/FOLDER/NAME, and appends its records. On failure
 * the files opened before stay open. E_IO: a file cannot be opened or read; E_CORRUPT: it is not a
 * sequence of records.
 */
static sluice_status add_file(cifar_source *cifar, const char *dir, const char *name)
{
    const cifar_kind *kind = cifar->kind;
    const uint64_t bytes = record_bytes(cifar);
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
        close(fd);
        return sli_fail_quoting(st, "%s: %s in %s: %.300s", kind->source, name, dir,
                                sluice_last_error());
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0 ||
        (uint64_t)info.st_size % bytes != 0) {
        close(fd);
        return sli_fail(SLUICE_E_CORRUPT,
                        "%s: the size of %s in %s must be a multiple of %llu bytes, one or more "
                        "records; this source reads the binary version of %s",
                        kind->source, name, dir, (unsigned long long)bytes, kind->dataset);
    }
    snprintf(cifar->names[cifar->file_count], sizeof(cifar->names[0]), "%s", name);
    cifar->fds[cifar->file_count] = fd;
    cifar->records[cifar->file_count] = (uint64_t)info.st_size / bytes;
    cifar->count += cifar->records[cifar->file_count++];
    return SLUICE_OK;
}

static void cifar_close(void *source)
{
    cifar_source *cifar = source;

    for (uint32_t i = 0; i < cifar->file_count; i++) {
        close(cifar->fds[i]);
    }
    sli_free(cifar);
}

/* Opens the files of the training part of CIFAR-10. */
static sluice_status add_batches(cifar_source *cifar, const char *dir)
{
    sluice_status st = SLUICE_OK;

    for (int i = 1; i <= MOST_FILES && st == SLUICE_OK; i++) {
        char name[32];

        snprintf(name, sizeof(name), "data_batch_%d.bin", i);
        st = add_file(cifar, dir, name);
    }
    return st;
}

static sluice_status open_as(const cifar_kind *kind, const cifar_args *args, void **source_out)
{
    cifar_source *cifar = sli_calloc(1, sizeof(*cifar));
    sluice_status st;

    if (cifar == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%s %s", kind->source, args->dir);
    }
    cifar->kind = kind;
    cifar->label = args->label;
    if (kind == &cifar10) {
        st = args->split == 1 ? add_file(cifar, args->dir, "test_batch.bin")
                              : add_batches(cifar, args->dir);
    } else {
        st = add_file(cifar, args->dir, args->split == 1 ? "test.bin" : "train.bin");
    }
    if (st != SLUICE_OK) {
        cifar_close(cifar);
        return st;
    }
    *source_out = cifar;
    return SLUICE_OK;
}

static sluice_status cifar10_open(const void *args, void **source_out)
{
    return open_as(&cifar10, args, source_out);
}

static sluice_status cifar100_open(const void *args, void **source_out)
{
    return open_as(&cifar100, args, source_out);
}

static uint64_t cifar_memory(const void *source)
{
    (void)source;
    return sizeof(cifar_source);
}

/* ---- samples --------------------------------------------------------------------------------- */

static uint64_t cifar_count(const void *source)
{
    return ((const cifar_source *)source)->count;
}

/* Finds the file of a sample; *index becomes the number of its record in that file. */
static uint32_t file_of(const cifar_source *cifar, uint64_t *index)
{
    uint32_t file = 0;

    while (file + 1 < cifar->file_count && *index >= cifar->records[file]) {
        *index -= cifar->records[file++];
    }
    return file;
}

static void cifar_name(const void *source, uint64_t index, char *text, size_t size)
{
    const cifar_source *cifar = source;
    const uint32_t file = file_of(cifar, &index);

    snprintf(text, size, "%s:%llu", cifar->names[file], (unsigned long long)index);
}

static sluice_status check_label(uint32_t label, uint32_t classes)
{
    return label < classes ? SLUICE_OK
                           : sli_fail(SLUICE_E_CORRUPT,
                                      "its label is %u, and must be 0 to %u; the file is corrupt, "
                                      "or of another data set",
                                      label, classes - 1);
}

/* Writes the columns of a record other than the image; `bytes`: its labels. */
static sluice_status write_labels(const cifar_source *cifar, const uint8_t *bytes, void *const *row)
{
    const uint8_t last = bytes[cifar->kind->label_bytes - 1];
    sluice_status st = SLUICE_OK;

    if (cifar->kind == &cifar100) {
        st = check_label(bytes[0], COARSE);
    }
    if (st == SLUICE_OK) {
        st = check_label(last, cifar->kind->classes);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (row[1] != NULL) {
        *(int32_t *)row[1] = cifar->label == LABEL_COARSE ? bytes[0] : last;
    }
    if (cifar->label == LABEL_BOTH && row[2] != NULL) {
        *(int32_t *)row[2] = bytes[0];
    }
    return SLUICE_OK;
}

static sluice_status cifar_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                                sample_data *data_out)
{
    const cifar_source *cifar = source;
    const size_t bytes = record_bytes(cifar);
    const uint32_t file = file_of(cifar, &index);
    sluice_status st = image_buffer_reserve(&io->bytes, bytes + 3 * (size_t)PLANE);
    const uint8_t *planes;
    uint8_t *pixels;
    ssize_t got;

    if (st != SLUICE_OK) {
        return st;
    }
    got = pread(cifar->fds[file], io->bytes.data, bytes, (off_t)(index * bytes));
    if (got < 0 || (size_t)got != bytes) {
        return got < 0 ? sli_fail_errno(SLUICE_E_IO, errno, "cannot read")
                       : sli_fail(SLUICE_E_CORRUPT, "the file ends within the record");
    }
    planes = io->bytes.data + cifar->kind->label_bytes;
    pixels = io->bytes.data + bytes;
    for (int i = 0; i < PLANE; i++) {
        pixels[3 * i] = planes[i];
        pixels[3 * i + 1] = planes[PLANE + i];
        pixels[3 * i + 2] = planes[2 * PLANE + i];
    }
    io->bytes_read += bytes;
    data_out->image = (image_view){pixels, (size_t)3 * SIDE, SIDE, SIDE, 3, IMAGE_U8};
    return write_labels(cifar, io->bytes.data, row);
}

static sluice_status cifar_read_plain(const void *source, uint64_t index, sample_io *io,
                                      void *const *row)
{
    const cifar_source *cifar = source;
    uint8_t record_labels[2];
    const size_t bytes = cifar->kind->label_bytes;
    const uint32_t file = file_of(cifar, &index);
    const ssize_t got =
        pread(cifar->fds[file], record_labels, bytes, (off_t)(index * record_bytes(cifar)));

    if (got < 0 || (size_t)got != bytes) {
        return got < 0 ? sli_fail_errno(SLUICE_E_IO, errno, "cannot read")
                       : sli_fail(SLUICE_E_CORRUPT, "the file ends before the record");
    }
    io->bytes_read += bytes;
    return write_labels(cifar, record_labels, row);
}

static uint32_t cifar_classes(const void *source)
{
    const cifar_source *cifar = source;

    return cifar->label == LABEL_COARSE ? COARSE : cifar->kind->classes;
}

static void cifar_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    const cifar_source *cifar = source;

    snprintf(text, size, "%s",
             cifar->label == LABEL_COARSE ? coarse_names[label] : cifar->kind->names[label]);
}

/* ---- the stages ------------------------------------------------------------------------------ */

#define CIFAR_OPS(open_call)                                                                       \
    {                                                                                              \
        .open = (open_call), .close = cifar_close, .count = cifar_count, .name = cifar_name,       \
        .read = cifar_read, .read_plain = cifar_read_plain, .memory = cifar_memory,                \
        .classes = cifar_classes, .class_name = cifar_class_name                                   \
    }

static const source_ops cifar10_ops = CIFAR_OPS(cifar10_open);
static const source_ops cifar100_ops = CIFAR_OPS(cifar100_open);

static sluice_status cifar_infer(const void *opaque, stage_schema *schema)
{
    const cifar_args *args = opaque;

    schema->column_count = args->label == LABEL_BOTH ? 3 : 2;
    schema->columns[0] =
        (sluice_column){.name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {SIDE, SIDE, 3}};
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->columns[2] = (sluice_column){.name = "coarse", .dtype = SLUICE_I32};
    schema->image = 0;
    return SLUICE_OK;
}

#define FILE_PARAMS                                                                                \
    PARAM_(cifar_args, dir, PARAM_TEXT, NULL, 0, 0, NULL, "the folder of the .bin files"),         \
        PARAM_(cifar_args, split, PARAM_CHOICE, "train", 0, 0, splits, "part of the dataset")

static const stage_param cifar10_params[] = {FILE_PARAMS};

const stage_def stage_cifar10 = {
    .name = "cifar10",
    .summary = "CIFAR-10 in the binary version, in DIR or DIR/cifar-10-batches-bin.",
    .elsewhere = "Cifar10Dataset CIFAR10",
    .gives = "image u8 (32, 32, 3), label i32",
    .details = "The files are data_batch_1.bin to data_batch_5.bin (train) and test_batch.bin. "
               "They are opened at the first use of the dataset. Labels are 0 (airplane) to 9 "
               "(truck); sluice_dataset_class_name() returns the names.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(cifar10_params),
    .args_size = sizeof(cifar_args),
    .infer = cifar_infer,
    .source =
        &(const source_stage_ops){
            .ops = &cifar10_ops,
        },
};

static const stage_param cifar100_params[] = {
    FILE_PARAMS,
    PARAM_(cifar_args, label, PARAM_CHOICE, "fine", 0, 0, labels,
           "fine: 100 classes; coarse: 20; both: fine, and coarse in a column of that name"),
};

const stage_def stage_cifar100 = {
    .name = "cifar100",
    .summary = "CIFAR-100 in the binary version, in DIR or DIR/cifar-100-binary.",
    .elsewhere = "Cifar100Dataset CIFAR100",
    .gives = "image u8 (32, 32, 3), label i32, of both also coarse i32",
    .details = "The files are train.bin and test.bin. They are opened at the first use of the "
               "dataset. sluice_dataset_class_name() returns the names of the labels.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(cifar100_params),
    .args_size = sizeof(cifar_args),
    .infer = cifar_infer,
    .source =
        &(const source_stage_ops){
            .ops = &cifar100_ops,
        },
};
