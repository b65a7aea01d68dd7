/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_sets.h"

#include "testing.h"

generator collected_generator;

const collected_maker collected_makers[COLLECTED_MAKERS] = {collected_stream, collected_filtered,
                                                            collected_packed, collected_bucketed};

static sluice_status keep_by_number(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view number;
    const sluice_status st = sluice_sample_get(sample, "number", &number);

    (void)user;
    if (st == SLUICE_OK) {
        *keep_out = *(const int64_t *)number.data % 3 != 0;
    }
    return st;
}

static void add_filter(sluice_dataset *dataset)
{
    static const char *const inputs[] = {"number"};
    sluice_filter filter;

    sluice_filter_init(&filter);
    filter.name = "third";
    filter.version = 1;
    filter.inputs = inputs;
    filter.input_count = 1;
    filter.filter = keep_by_number;
    T_OK(sluice_dataset_filter(dataset, &filter));
}

static sluice_dataset *begin(uint64_t samples, const char *stages)
{
    collected_generator = (generator){.samples = samples, .varies_by = 2};
    return generator_dataset(&collected_generator, stages);
}

sluice_dataset *collected_stream(const char *batch)
{
    sluice_dataset *dataset = begin(23, "rename words image | rename image_length label");

    T_OK(sluice_dataset_add(dataset, batch));
    return dataset;
}

sluice_dataset *collected_filtered(const char *batch)
{
    sluice_dataset *dataset = begin(23, "rename words image | rename image_length label");

    add_filter(dataset);
    T_OK(sluice_dataset_add(dataset, batch));
    return dataset;
}

sluice_dataset *collected_packed(const char *batch)
{
    sluice_dataset *dataset =
        begin(23, "shuffle buffer=5 | pack words 8 | rename words image | rename position label");

    T_OK(sluice_dataset_add(dataset, batch));
    return dataset;
}

sluice_dataset *collected_bucketed(const char *batch)
{
    sluice_dataset *dataset = begin(43, "rename words image | rename image_length label");

    add_filter(dataset);
    T_OK(sluice_dataset_add(dataset, "bucket label edges=4"));
    T_OK(sluice_dataset_add(dataset, batch));
    return dataset;
}
