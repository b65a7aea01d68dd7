/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions that return the names of samples and classes. */
#include <inttypes.h>
#include <string.h>

#include "alloc_int.h"
#include "dataset_state.h"

/* Initial and largest size of the buffer for a name; names of tar members can have 1 MB. */
enum { NAME_FIRST = 1024, NAME_LARGEST = 1 << 21 };

/* Writes the name of a sample or class, truncated to size - 1 bytes. */
typedef void name_writer(const sluice_dataset *dataset, uint64_t number, char *text, size_t size);

static void write_sample(const sluice_dataset *dataset, uint64_t number, char *text, size_t size)
{
    dataset_source(dataset)->name(dataset->source, number, text, size);
}

static void write_class(const sluice_dataset *dataset, uint64_t number, char *text, size_t size)
{
    dataset_source(dataset)->class_name(dataset->source, (uint32_t)number, text, size);
}

/* Writes the name into allocated memory, growing it until the whole name fits. */
static sluice_status make_name(const sluice_dataset *dataset, uint64_t number, name_writer *write,
                               char **name_out)
{
    for (size_t size = NAME_FIRST; size <= NAME_LARGEST; size *= 2) {
        char *name = sli_calloc(1, size);

        if (name == NULL) {
            break;
        }
        write(dataset, number, name, size);
        if (strlen(name) + 1 < size || size == NAME_LARGEST) {
            *name_out = name;
            return SLUICE_OK;
        }
        sli_free(name);
    }
    return sli_fail(SLUICE_E_NO_MEMORY, "a name in %s", dataset->stages[0].def->name);
}

/* Checks the arguments and opens the dataset. */
static sluice_status begin_name(sluice_dataset *dataset, const char *function,
                                char *const *name_out)
{
    sluice_status st = dataset_status(dataset, function);

    if (st == SLUICE_OK && name_out == NULL) {
        st = sli_fail(SLUICE_E_INVALID, "%s: name_out is NULL", function);
    }
    return st == SLUICE_OK ? dataset_open(dataset) : st;
}

sluice_status sluice_dataset_sample_name(sluice_dataset *dataset, uint64_t sample, char **name_out)
{
    static const char function[] = "sluice_dataset_sample_name";
    sluice_status st = begin_name(dataset, function, name_out);

    if (st != SLUICE_OK) {
        return st;
    }
    if (dataset_is_stream(dataset)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s: a stream does not keep the names of its samples; %s", function,
                        dataset_source(dataset)->instead);
    }
    if (sample >= dataset->source_count) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: sample %" PRIu64 " must be less than %" PRIu64 ", the samples of the "
                        "source",
                        function, sample, dataset->source_count);
    }
    return make_name(dataset, sample, write_sample, name_out);
}

sluice_status sluice_dataset_class_name(sluice_dataset *dataset, int32_t label, char **name_out)
{
    static const char function[] = "sluice_dataset_class_name";
    sluice_status st = begin_name(dataset, function, name_out);
    const source_ops *ops;
    uint32_t classes;

    if (st != SLUICE_OK) {
        return st;
    }
    ops = dataset_source(dataset);
    classes = ops->class_name != NULL ? ops->classes(dataset->source) : 0;
    if (classes == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "%s: %s has no names of classes", function,
                        dataset->stages[0].def->name);
    }
    if (label < 0 || (uint32_t)label >= classes) {
        return sli_fail(SLUICE_E_INVALID, "%s: label %" PRId32 " must be from 0 to %" PRIu32,
                        function, label, classes - 1);
    }
    return make_name(dataset, (uint64_t)label, write_class, name_out);
}
