/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_calls.h"

#include <sluice/assembly.h>
#include <sluice/cache.h>
#include <sluice/columns.h>
#include <sluice/mixes.h>
#include <sluice/sampling.h>

static sluice_status call_shuffle(sluice_dataset *d)
{
    return sluice_dataset_shuffle(d, 5, 7);
}

static sluice_status call_shard(sluice_dataset *d)
{
    return sluice_dataset_shard(d, 2, 3);
}

static sluice_status call_split(sluice_dataset *d)
{
    return sluice_dataset_split(d, "val", 0.25, 9, 0.5);
}

static sluice_status call_take(sluice_dataset *d)
{
    return sluice_dataset_take(d, 7);
}

static sluice_status call_skip(sluice_dataset *d)
{
    return sluice_dataset_skip(d, 90);
}

/* Files of numbers, of a source of 100 samples. */
#define SAMPLES SLUICE_TEST_DATA "/numbers/samples.txt"
#define WEIGHTS SLUICE_TEST_DATA "/numbers/weights.txt"

static sluice_status call_subset(sluice_dataset *d)
{
    return sluice_dataset_subset(d, SAMPLES);
}

static sluice_status call_weights(sluice_dataset *d)
{
    return sluice_dataset_weights(d, WEIGHTS, 50, 9);
}

static sluice_status call_weights_defaults(sluice_dataset *d)
{
    return sluice_dataset_weights(d, "label", 0, SLUICE_SEED_OF_RUN);
}

static sluice_status call_balance(sluice_dataset *d)
{
    return sluice_dataset_balance(d, "y", 33, 4);
}

static sluice_status call_balance_defaults(sluice_dataset *d)
{
    return sluice_dataset_balance(d, NULL, 0, SLUICE_SEED_OF_RUN);
}

static sluice_status call_repeat(sluice_dataset *d)
{
    return sluice_dataset_repeat(d, 2);
}

static sluice_status call_batch(sluice_dataset *d)
{
    return sluice_dataset_batch(d, 7, true);
}

static sluice_status call_project(sluice_dataset *d)
{
    return sluice_dataset_project(d, "label,image");
}

static sluice_status call_drop(sluice_dataset *d)
{
    return sluice_dataset_drop(d, "label");
}

static sluice_status call_rename(sluice_dataset *d)
{
    return sluice_dataset_rename(d, "label", "y");
}

static sluice_status call_cache(sluice_dataset *d)
{
    return sluice_dataset_cache(d, 3 << 20);
}

static sluice_status call_cache_shared(sluice_dataset *d)
{
    return sluice_dataset_cache_shared(d, 3 << 20);
}

static sluice_status call_one_hot(sluice_dataset *d)
{
    return sluice_dataset_one_hot(d, "label", 7, 0.25);
}

static sluice_status call_pad(sluice_dataset *d)
{
    return sluice_dataset_pad_array(d, "label", 9, 2.5);
}

static sluice_status call_truncate(sluice_dataset *d)
{
    return sluice_dataset_truncate_array(d, "label", 3);
}

static sluice_status call_cast(sluice_dataset *d)
{
    return sluice_dataset_cast(d, "label", SLUICE_I64);
}

static sluice_status call_pack(sluice_dataset *d)
{
    return sluice_dataset_pack(d, "label", 16, false, 9);
}

static sluice_status call_bucket(sluice_dataset *d)
{
    static const uint64_t edges[] = {2, 5};

    return sluice_dataset_bucket(d, "label", edges, 2);
}

static sluice_status call_pack_defaults(sluice_dataset *d)
{
    return sluice_dataset_pack(d, NULL, 16, true, 0);
}

static sluice_status call_mixup(sluice_dataset *d)
{
    return sluice_dataset_mixup(d, 7, 0.25, "y");
}

static sluice_status call_cutmix(sluice_dataset *d)
{
    return sluice_dataset_cutmix(d, 7, 0.25, "y");
}

static sluice_status call_mixup_defaults(sluice_dataset *d)
{
    return sluice_dataset_mixup(d, 7, 1, NULL);
}

static sluice_status call_cutmix_defaults(sluice_dataset *d)
{
    return sluice_dataset_cutmix(d, 7, 1, NULL);
}

static sluice_status call_column(sluice_dataset *d)
{
    return sluice_dataset_column(d, "seen", NULL, "points");
}

static sluice_status call_column_role(sluice_dataset *d)
{
    return sluice_dataset_column(d, "points", "points", NULL);
}

static sluice_status call_geometry(sluice_dataset *d)
{
    return sluice_dataset_geometry(d, "where");
}

static sluice_status call_geometry_defaults(sluice_dataset *d)
{
    return sluice_dataset_geometry(d, NULL);
}

static sluice_status call_shuffle_by_run(sluice_dataset *d)
{
    return sluice_dataset_shuffle(d, SLUICE_SEED_OF_RUN, 0);
}

static sluice_status call_shard_by_run(sluice_dataset *d)
{
    return sluice_dataset_shard(d, SLUICE_OF_RUN, SLUICE_OF_RUN);
}

/* ---- the cases ------------------------------------------------------------------------------- */

#define SOURCE    "synthetic 100 24,20,3 7"
#define ARRAYS    "npy ${FOLDER}/arrays"
#define DOCUMENTS SOURCE " | one_hot label 7 | cast label i32"

static const stage_call stage_calls[] = {
    {SOURCE, "shuffle seed=5 buffer=7", call_shuffle, NULL, "batch 4"},
    {SOURCE, "shuffle", call_shuffle_by_run, NULL, "batch 4"},
    {SOURCE, "shard 2 3", call_shard, NULL, "batch 4"},
    {SOURCE, "shard", call_shard_by_run, NULL, "batch 4"},
    {SOURCE, "shard none", sluice_dataset_shard_none, NULL, "batch 4"},
    {SOURCE, "split val 0.25 seed=9 test=0.5", call_split, NULL, "batch 4"},
    {SOURCE, "take 7", call_take, NULL, "batch 4"},
    {SOURCE, "skip 90", call_skip, NULL, "batch 4"},
    {SOURCE, "subset " SAMPLES, call_subset, NULL, "batch 4"},
    {SOURCE, "weights " WEIGHTS " samples=50 seed=9", call_weights, NULL, "batch 4"},
    {SOURCE, "weights label", call_weights_defaults, NULL, "batch 4"},
    {SOURCE " | rename label y", "balance y samples=33 seed=4", call_balance, NULL, "batch 4"},
    {SOURCE, "balance", call_balance_defaults, NULL, "batch 4"},
    {SOURCE " | shuffle", "repeat 2", call_repeat, NULL, "batch 4"},
    {SOURCE, "project label,image", call_project, NULL, "batch 4"},
    {SOURCE, "drop label", call_drop, NULL, "batch 4"},
    {SOURCE, "rename label y", call_rename, NULL, "batch 4"},
    {SOURCE, "one_hot label 7 smoothing=0.25", call_one_hot, NULL, "batch 4"},
    {SOURCE, "cast label i64", call_cast, NULL, "batch 4"},
    {SOURCE " | one_hot label 7", "pad label to=9 value=2.5", call_pad, NULL, "batch 4"},
    {SOURCE " | one_hot label 7", "truncate label 3", call_truncate, NULL, "batch 4"},
    {DOCUMENTS, "pack label 16 split=false pad=9", call_pack, NULL, "batch 4"},
    {SOURCE, "bucket label 2,5", call_bucket, NULL, "batch 4"},
    {DOCUMENTS " | rename label tokens", "pack tokens 16", call_pack_defaults, NULL, "batch 4"},
    {SOURCE, "cache 3M", call_cache, NULL, "batch 4"},
    {SOURCE, "cache 3M shared=true", call_cache_shared, NULL, "batch 4"},
    {ARRAYS, "column points points", call_column_role, NULL, "batch 1"},
    {ARRAYS " | column points points", "column seen of=points", call_column, NULL,
     "random_horizontal_flip swap=0:1 | batch 1"},
    {SOURCE, "geometry where", call_geometry, NULL, "batch 4"},
    {SOURCE, "geometry", call_geometry_defaults, NULL, "batch 4"},
    {SOURCE, "batch 7 drop_remainder=true", call_batch, NULL, NULL},
    {SOURCE " | rename label y | batch 4", "mixup 7 0.25 label=y", call_mixup, NULL, NULL},
    {SOURCE " | rename label y | batch 4", "cutmix 7 0.25 label=y", call_cutmix, NULL, NULL},
    {SOURCE " | batch 4", "mixup 7", call_mixup_defaults, NULL, NULL},
    {SOURCE " | batch 4", "cutmix 7", call_cutmix_defaults, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const stage_call *stage_call_at(size_t index)
{
    static const stage_call *const tables[] = {source_calls, stage_calls, image_calls, warp_calls};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const stage_call *c = tables[i]; c->text != NULL; c++) {
            if (index-- == 0) {
                return c;
            }
        }
    }
    return NULL;
}
