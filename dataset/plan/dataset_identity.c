/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of a dataset: a resumed run compares it to detect other data. */
#include "array_ops.h"
#include "dataset_parts.h"
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

/* Mixes the hashes of the tables of all index stages, of the files of array stages, and of what
 * else determines the columns of the source, into a hash; also those of the parts of a group. */
static uint64_t mix_tables(const sluice_dataset *dataset, uint64_t hash)
{
    const dataset_parts *parts = dataset_group(dataset);
    const source_ops *ops = dataset_source(dataset);
    const uint64_t own = ops->identity != NULL ? ops->identity(dataset->source) : 0;

    hash = own != 0 ? sli_mix_in(hash, own) : hash;

    for (uint32_t i = 0; parts != NULL && i < parts->count; i++) {
        hash = mix_tables(parts->items[i].dataset, hash);
    }
    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        const dataset_stage *stage = &dataset->stages[i];

        if (dataset->tables[i].block != NULL) {
            hash = sli_mix_in(hash, dataset->tables[i].hash);
        }
        if (stage->def->array != NULL && stage->def->array->identity != NULL) {
            hash = sli_mix_in(hash, stage->def->array->identity(stage->args.bytes));
        }
    }
    return hash;
}

/* True if the stage changes no result. */
static bool is_neutral(const dataset_stage *stage)
{
    return stage->def->kind == STAGE_CACHE || stage->def->kind == STAGE_DEVICE;
}

/* True if stages [1, end) have a part in the identity. */
static bool has_more(const sluice_dataset *dataset, uint32_t end)
{
    return end > 2 || (end == 2 && !is_neutral(&dataset->stages[1]));
}

static sluice_status print_source(const sluice_dataset *dataset, char **source_out)
{
    sli_text text = {0};
    sluice_status st;

    dataset_print_source(dataset, SOURCE_OF_DATA, &text);
    st = sli_text_take(&text, source_out);
    for (char *at = *source_out; st == SLUICE_OK && *at != '\0'; at++) {
        *at = (char)(*at == '\n' ? ' ' : *at); /* a line of a state */
    }
    return st;
}

void sli_dataset_identity_free(sli_dataset_identity *identity)
{
    sluice_string_free(identity->stages);
    sluice_string_free(identity->source);
    *identity = (sli_dataset_identity){.samples = 0};
}

sluice_status sli_plan_identity(const sli_plan *plan, sli_dataset_identity *identity_out)
{
    const sluice_dataset *dataset = plan->dataset;
    uint32_t end = dataset->stage_count;
    size_t begin;
    sli_text text = {0};
    sluice_status st;

    *identity_out = (sli_dataset_identity){.samples = 0};
    identity_out->samples = dataset->source_count;
    identity_out->names = mix_tables(dataset, dataset_names_hash(dataset));
    while (end > 1 && dataset->stages[end - 1].def->kind == STAGE_BATCH) {
        end--; /* excluded: a resumed run may have another batch size */
    }
    if (dataset->stages[0].def->source->identifies) {
        dataset_print_source(dataset, SOURCE_OF_STAGES, &text);
        sli_text_add(&text, "%s", has_more(dataset, end) ? " | " : "");
    }
    begin = text.length;
    for (uint32_t i = 1; i < end; i++) {
        if (!is_neutral(&dataset->stages[i])) {
            sli_text_add(&text, "%s", text.length > begin ? " | " : "");
            dataset_print(dataset, i, i + 1, &text);
        }
    }
    st = sli_text_take(&text, &identity_out->stages);
    if (st == SLUICE_OK) {
        st = print_source(dataset, &identity_out->source);
    }
    if (st != SLUICE_OK) {
        sli_dataset_identity_free(identity_out);
    }
    return st;
}
