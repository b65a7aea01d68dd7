/* SPDX-License-Identifier: Apache-2.0 */
/* Source `cifar10`: the binary version of CIFAR-10. Each record has one label. */
#include <stdio.h>

#include "alloc_int.h"
#include "cifar_files.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

/* Indexed by label: the order of batches.meta.txt. */
static const char *const class_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                          "dog",      "frog",       "horse", "ship", "truck"};

enum { CLASSES = sizeof(class_names) / sizeof(class_names[0]) };

static const cifar_kind cifar10 = {"cifar10", "CIFAR-10", "cifar-10-batches-bin", 1};

static const char *const splits[] = {"train", "test", NULL};

typedef struct cifar_args {
    const char *dir;
    uint32_t split;
} cifar_args;

static void cifar_close(void *source)
{
    cifar_files_close(source);
    sli_free(source);
}

static sluice_status cifar_open(const void *opaque, void **source_out)
{
    const cifar_args *args = opaque;
    cifar_files *files = sli_calloc(1, sizeof(*files));
    sluice_status st = SLUICE_OK;

    if (files == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "cifar10 %s", args->dir);
    }
    files->kind = &cifar10;
    if (args->split == 1) {
        st = cifar_files_add(files, args->dir, "test_batch.bin");
    }
    for (int i = 1; i <= CIFAR_MAX_FILES && args->split == 0 && st == SLUICE_OK; i++) {
        char name[32];

        snprintf(name, sizeof(name), "data_batch_%d.bin", i);
        st = cifar_files_add(files, args->dir, name);
    }
    if (st != SLUICE_OK) {
        cifar_close(files);
        return st;
    }
    *source_out = files;
    return SLUICE_OK;
}

static uint64_t cifar_memory(const void *source)
{
    (void)source;
    return sizeof(cifar_files);
}

/* Writes the columns of a record other than the image. */
static sluice_status write_label(uint8_t label, void *const *row)
{
    const sluice_status st = cifar_check_label(label, CLASSES);

    if (st == SLUICE_OK && row[1] != NULL) {
        *(int32_t *)row[1] = label;
    }
    return st;
}

static sluice_status cifar_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                                sample_data *data_out)
{
    const uint8_t *label;
    const sluice_status st = cifar_files_read(source, index, io, &label, data_out);

    return st == SLUICE_OK ? write_label(*label, row) : st;
}

static sluice_status cifar_read_plain(const void *source, uint64_t index, sample_io *io,
                                      void *const *row)
{
    uint8_t labels[2];
    const sluice_status st = cifar_files_read_labels(source, index, io, labels);

    return st == SLUICE_OK ? write_label(labels[0], row) : st;
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
    .count = cifar_files_count,
    .name = cifar_files_name,
    .read = cifar_read,
    .read_plain = cifar_read_plain,
    .memory = cifar_memory,
    .classes = cifar_classes,
    .class_name = cifar_class_name,
};

static sluice_status cifar_infer(const void *args, stage_schema *schema)
{
    (void)args;
    schema->column_count = 2;
    schema->columns[0] = cifar_image;
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
    .elsewhere = "Cifar10Dataset CIFAR10",
    .gives = "image u8 (32, 32, 3), label i32",
    .details = "The files are data_batch_1.bin to data_batch_5.bin (train) and test_batch.bin. "
               "They are opened at the first use of the dataset. Labels are 0 (airplane) to 9 "
               "(truck); sluice_dataset_class_name() returns the names.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(cifar_params),
    .args_size = sizeof(cifar_args),
    .infer = cifar_infer,
    .source =
        &(const source_stage_ops){
            .ops = &cifar_ops,
        },
};
