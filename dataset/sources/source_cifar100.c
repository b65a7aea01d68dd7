/* SPDX-License-Identifier: Apache-2.0 */
/* Source `cifar100`: the binary version of CIFAR-100. Each record has a coarse and a fine label. */
#include <stdio.h>

#include "alloc_int.h"
#include "cifar_files.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"

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
    COARSE = sizeof(coarse_names) / sizeof(coarse_names[0]),
    FINE = sizeof(fine_names) / sizeof(fine_names[0])
};

static const cifar_kind cifar100 = {"cifar100", "CIFAR-100", "cifar-100-binary", 2};

static const char *const splits[] = {"train", "test", NULL};

/* Values of the argument `label`. */
enum { LABEL_FINE, LABEL_COARSE, LABEL_BOTH };

static const char *const labels[] = {"fine", "coarse", "both", NULL};

typedef struct cifar_args {
    const char *dir;
    uint32_t split;
    uint32_t label;
} cifar_args;

typedef struct cifar100_source {
    cifar_files files; /* must be first: see cifar_files.h */
    uint32_t label;
} cifar100_source;

static void cifar_close(void *source)
{
    cifar_files_close(&((cifar100_source *)source)->files);
    sli_free(source);
}

static sluice_status cifar_open(const void *opaque, void **source_out)
{
    const cifar_args *args = opaque;
    cifar100_source *cifar = sli_calloc(1, sizeof(*cifar));
    sluice_status st;

    if (cifar == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "cifar100 %s", args->dir);
    }
    cifar->files.kind = &cifar100;
    cifar->label = args->label;
    st = cifar_files_add(&cifar->files, args->dir, args->split == 1 ? "test.bin" : "train.bin");
    if (st != SLUICE_OK) {
        cifar_close(cifar);
        return st;
    }
    *source_out = cifar;
    return SLUICE_OK;
}

static uint64_t cifar_memory(const void *source)
{
    (void)source;
    return sizeof(cifar100_source);
}

/* Writes the columns of a record other than the image; `both`: the coarse label and the fine one.
 */
static sluice_status write_labels(const cifar100_source *cifar, const uint8_t *both,
                                  void *const *row)
{
    sluice_status st = cifar_check_label(both[0], COARSE);

    if (st == SLUICE_OK) {
        st = cifar_check_label(both[1], FINE);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (row[1] != NULL) {
        *(int32_t *)row[1] = cifar->label == LABEL_COARSE ? both[0] : both[1];
    }
    if (cifar->label == LABEL_BOTH && row[2] != NULL) {
        *(int32_t *)row[2] = both[0];
    }
    return SLUICE_OK;
}

static sluice_status cifar_read(const void *source, uint64_t index, sample_io *io, void *const *row,
                                sample_data *data_out)
{
    const cifar100_source *cifar = source;
    const uint8_t *both;
    const sluice_status st = cifar_files_read(&cifar->files, index, io, &both, data_out);

    return st == SLUICE_OK ? write_labels(cifar, both, row) : st;
}

static sluice_status cifar_read_plain(const void *source, uint64_t index, sample_io *io,
                                      void *const *row)
{
    const cifar100_source *cifar = source;
    uint8_t both[2];
    const sluice_status st = cifar_files_read_labels(&cifar->files, index, io, both);

    return st == SLUICE_OK ? write_labels(cifar, both, row) : st;
}

static uint32_t cifar_classes(const void *source)
{
    return ((const cifar100_source *)source)->label == LABEL_COARSE ? COARSE : FINE;
}

static void cifar_class_name(const void *source, uint32_t label, char *text, size_t size)
{
    const bool coarse = ((const cifar100_source *)source)->label == LABEL_COARSE;

    snprintf(text, size, "%s", coarse ? coarse_names[label] : fine_names[label]);
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

static sluice_status cifar_infer(const void *opaque, stage_schema *schema)
{
    const cifar_args *args = opaque;

    schema->column_count = args->label == LABEL_BOTH ? 3 : 2;
    schema->columns[0] = cifar_image;
    schema->columns[1] = (sluice_column){.name = "label", .dtype = SLUICE_I32};
    schema->columns[2] = (sluice_column){.name = "coarse", .dtype = SLUICE_I32};
    schema->image = 0;
    return SLUICE_OK;
}

static const stage_param cifar_params[] = {
    PARAM_(cifar_args, dir, PARAM_TEXT, NULL, 0, 0, NULL, "the folder of the .bin files"),
    PARAM_(cifar_args, split, PARAM_CHOICE, "train", 0, 0, splits, "part of the dataset"),
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
    STAGE_PARAMS(cifar_params),
    .args_size = sizeof(cifar_args),
    .infer = cifar_infer,
    .source =
        &(const source_stage_ops){
            .ops = &cifar_ops,
        },
};
