/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a dataset, which a resumed run compares to detect other data. */
#include "dataset_state.h"
#include "plan_int.h"
#include "rng_int.h"

/*
 * Bound on the names that are hashed: enough to detect other files, fast for millions of samples.
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

sluice_status sli_plan_identity(const sli_plan *plan, sli_dataset_identity *identity_out)
{
    const sluice_dataset *dataset = plan->dataset;
    uint32_t end = dataset->stage_count;
    sli_text text = {0};

    identity_out->samples = dataset->source_count;
    identity_out->names = dataset_names_hash(dataset);
    while (end > 1 && dataset->stages[end - 1].def->kind == STAGE_BATCH) {
        end--; /* excluded: a resumed run may have another batch size */
    }
    dataset_print(dataset, dataset->stages[0].def->identifies ? 0 : 1, end, &text);
    return sli_text_take(&text, &identity_out->stages);
}
