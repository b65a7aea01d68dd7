/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a dataset: a resumed run compares it to detect other data. */
#include <string.h>

#include "dataset_state.h"
#include "plan_int.h"
#include "rng_int.h"

/*
 * Limit on the number of names that are hashed: enough to detect other files, and fast for millions
 * of samples.
 */
enum { MAX_NAMES = 1024 };

uint64_t dataset_names_hash(const sluice_dataset *dataset)
{
    const uint64_t count = dataset->source_count;
    const uint64_t stride = count / MAX_NAMES + 1;
    uint64_t names = count;

    for (uint64_t sample = 0; sample < count; sample += stride) {
        char name[1024];

        dataset_source(dataset)->name(dataset->source, sample, name, sizeof(name));
        names = sli_mix_in(names, sli_hash_text(name));
    }
    return names;
}

/* Adds the source with its arguments; a path may change, so it is written as "-". */
static void print_source(const sluice_dataset *dataset, sli_text *text)
{
    const dataset_stage *source = &dataset->stages[0];

    sli_text_add(text, "%s", source->def->name);
    for (uint32_t i = 0; i < source->def->param_count; i++) {
        const stage_param *param = &source->def->params[i];

        sli_text_add(text, " %s=", param->name);
        if (source->def->path != NULL && strcmp(source->def->path, param->name) == 0) {
            sli_text_add(text, "-");
        } else {
            stage_arg_print(param, source->args.bytes, text);
        }
    }
}

sluice_status sli_plan_identity(const sli_plan *plan, sli_dataset_identity *identity_out)
{
    const sluice_dataset *dataset = plan->dataset;
    uint32_t end = dataset->stage_count;
    sli_text text = {0};

    identity_out->samples = dataset->source_count;
    identity_out->names = dataset_names_hash(dataset);
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        if (dataset->tables[i].block != NULL) {
            identity_out->names = sli_mix_in(identity_out->names, dataset->tables[i].hash);
        }
    }
    while (end > 1 && dataset->stages[end - 1].def->kind == STAGE_BATCH) {
        end--; /* excluded: a resumed run may have another batch size */
    }
    if (dataset->stages[0].def->identifies) {
        print_source(dataset, &text);
        sli_text_add(&text, "%s", end > 1 ? " | " : "");
    }
    dataset_print(dataset, 1, end, &text);
    return sli_text_take(&text, &identity_out->stages);
}
