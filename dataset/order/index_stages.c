/* SPDX-License-Identifier: Apache-2.0 */
/* The stages that choose and order samples. What they do is order.c's; here are their words. */
#include "index_stages.h"
#include "status_int.h"

static const char *const parts[] = {"train", "val", "test", NULL};

static const stage_param shuffle_params[] = {
    PARAM_(shuffle_args, seed, PARAM_SEED, "run", 0, 0, NULL, "of the order; run: that of the run"),
    PARAM_(shuffle_args, buffer, PARAM_COUNT, "1000", 1, 1e9, NULL,
           "of a stream: how many samples it is mixed within, 1 GB of them at most"),
};

const stage_def stage_shuffle = {
    .name = "shuffle",
    .summary = "Visits the samples of each pass in another random order; needs no memory. A stream "
               "is mixed as far as its buffer goes, and so are its files, where shuffle is the "
               "first to order samples.",
    .gives = "the same samples",
    .kind = STAGE_INDEX,
    .index = INDEX_SHUFFLE,
    STAGE_PARAMS(shuffle_params),
    .args_size = sizeof(shuffle_args),
};

sluice_status sluice_dataset_shuffle(sluice_dataset *dataset, uint64_t seed, uint64_t buffer)
{
    const shuffle_args args = {seed, buffer != 0 ? buffer : SHUFFLE_BUFFER};

    return dataset_append(dataset, &stage_shuffle, &args);
}

static sluice_status check_shard(void *opaque)
{
    const shard_args *args = opaque;

    if (args->world == 0) {
        return sli_fail(SLUICE_E_INVALID, "shard: world=0: want at least 1");
    }
    if (args->world < PARAM_RANK_NONE && args->rank < PARAM_RANK_NONE &&
        args->rank >= args->world) {
        return sli_fail(SLUICE_E_INVALID, "shard: rank %u of world %u", args->rank, args->world);
    }
    if (args->world == PARAM_RANK_NONE && args->rank != PARAM_RANK_NONE) {
        return sli_fail(SLUICE_E_INVALID, "shard: world cannot be none; `shard none` turns it off");
    }
    return SLUICE_OK;
}

static const stage_param shard_params[] = {
    PARAM_(shard_args, rank, PARAM_RANK, "run", 0, 0, NULL,
           "which part; run: of the run; none: every rank sees every sample"),
    PARAM_(shard_args, world, PARAM_RANK, "run", 0, 0, NULL, "how many parts"),
};

const stage_def stage_shard = {
    .name = "shard",
    .summary = "Keeps every world-th sample from the rank-th on. Added by itself before batch when "
               "a run has several ranks and the pipeline has none.",
    .gives = "1/world of the samples",
    .kind = STAGE_INDEX,
    .index = INDEX_SHARD,
    STAGE_PARAMS(shard_params),
    .args_size = sizeof(shard_args),
    .check = check_shard,
};

sluice_status sluice_dataset_shard(sluice_dataset *dataset, uint32_t rank, uint32_t world)
{
    const shard_args args = {rank, world};

    return dataset_append(dataset, &stage_shard, &args);
}

sluice_status sluice_dataset_shard_none(sluice_dataset *dataset)
{
    const shard_args args = {PARAM_RANK_NONE, SLUICE_OF_RUN};

    return dataset_append(dataset, &stage_shard, &args);
}

uint64_t split_share(double fraction)
{
    return (uint64_t)(fraction * SPLIT_WHOLE + 0.5);
}

bool split_keeps(const split_args *args, const char *name)
{
    const uint64_t hash = sli_mix_in(sli_hash_text(name), args->seed);
    const uint64_t place = ((hash >> 32) * SPLIT_WHOLE) >> 32;
    const uint64_t share = split_share(args->fraction);
    const uint64_t test = split_share(args->test);

    switch (args->part) {
    case 0:
        return place < share;
    case 1:
        return place >= SPLIT_WHOLE - test - share && place < SPLIT_WHOLE - test;
    default:
        return place >= SPLIT_WHOLE - share;
    }
}

static sluice_status check_split(void *opaque)
{
    const split_args *args = opaque;

    if (split_share(args->fraction) == 0 ||
        split_share(args->fraction) + split_share(args->test) > SPLIT_WHOLE) {
        return sli_fail(SLUICE_E_INVALID,
                        "split: fraction=%.9g test=%.9g: want more than 0, and 1 at most together",
                        args->fraction, args->test);
    }
    return SLUICE_OK;
}

static const stage_param split_params[] = {
    PARAM_(split_args, part, PARAM_CHOICE, NULL, 0, 0, parts, "which part to keep"),
    PARAM_(split_args, fraction, PARAM_REAL, NULL, 0, 1, NULL, "how much of all it is, 0 to 1"),
    PARAM_(split_args, seed, PARAM_COUNT, "0", 0, 0, NULL, "of the hash of the samples' names"),
    PARAM_(split_args, test, PARAM_REAL, "0", 0, 1, NULL, "for val: how much test takes"),
};

const stage_def stage_split = {
    .name = "split",
    .summary = "Keeps a part of the samples by a hash of their names: train the first of its "
               "range, test the last, val the last before test. Parts stay when files are added.",
    .gives = "some of the samples",
    .kind = STAGE_INDEX,
    .index = INDEX_SPLIT,
    STAGE_PARAMS(split_params),
    .args_size = sizeof(split_args),
    .check = check_split,
};

sluice_status sluice_dataset_split(sluice_dataset *dataset, const char *part, double fraction,
                                   uint64_t seed, double test)
{
    split_args args = {.fraction = fraction, .seed = seed, .test = test};
    sluice_status st = stage_arg_choose(&stage_split, "part", part, &args.part);

    return st == SLUICE_OK ? dataset_append(dataset, &stage_split, &args)
                           : dataset_keep(dataset, &stage_split, st);
}

static const stage_param take_params[] = {
    PARAM_(count_args, n, PARAM_COUNT, NULL, 0, 0, NULL, "how many to keep"),
};

const stage_def stage_take = {
    .name = "take",
    .summary = "Keeps the first n samples.",
    .gives = "at most n samples",
    .kind = STAGE_INDEX,
    .index = INDEX_TAKE,
    STAGE_PARAMS(take_params),
    .args_size = sizeof(count_args),
};

sluice_status sluice_dataset_take(sluice_dataset *dataset, uint64_t n)
{
    const count_args args = {n};

    return dataset_append(dataset, &stage_take, &args);
}

static const stage_param skip_params[] = {
    PARAM_(count_args, n, PARAM_COUNT, NULL, 0, 0, NULL, "how many to leave out"),
};

const stage_def stage_skip = {
    .name = "skip",
    .summary = "Leaves out the first n samples.",
    .gives = "the samples after those",
    .kind = STAGE_INDEX,
    .index = INDEX_SKIP,
    STAGE_PARAMS(skip_params),
    .args_size = sizeof(count_args),
};

sluice_status sluice_dataset_skip(sluice_dataset *dataset, uint64_t n)
{
    const count_args args = {n};

    return dataset_append(dataset, &stage_skip, &args);
}

static const stage_param repeat_params[] = {
    PARAM_(count_args, n, PARAM_COUNT, NULL, 1, 1e9, NULL, "how many passes become one"),
};

const stage_def stage_repeat = {
    .name = "repeat",
    .summary = "Makes n passes one; order and random numbers differ in each of them.",
    .gives = "n times the samples",
    .kind = STAGE_INDEX,
    .index = INDEX_REPEAT,
    STAGE_PARAMS(repeat_params),
    .args_size = sizeof(count_args),
};

sluice_status sluice_dataset_repeat(sluice_dataset *dataset, uint64_t n)
{
    const count_args args = {n};

    return dataset_append(dataset, &stage_repeat, &args);
}
