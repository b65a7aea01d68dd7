/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of the stages that select and order samples; order.c and stream_order.c implement
 * them.
 */
#include "index_stages.h"
#include "rng_int.h"
#include "status_int.h"

static const char *const parts[] = {"train", "val", "test", NULL};

static const stage_param shuffle_params[] = {
    PARAM_(shuffle_args, seed, PARAM_SEED, "run", 0, 0, NULL,
           "seed of the order; run: the seed of the run"),
    PARAM_(shuffle_args, buffer, PARAM_COUNT, "1000", 1, 1e9, NULL,
           "of a stream: samples in the shuffle buffer, at most 1 GB"),
};

const stage_def stage_shuffle = {
    .name = "shuffle",
    .summary = "Shuffles all samples, in another order in each pass, without memory. A stream is "
               "shuffled within a buffer, and its shards are shuffled, too, if shuffle is the "
               "first stage of order.",
    .gives = "the same samples",
    .details = "A sample of a stream is drawn at random from the buffer.",
    .kind = STAGE_INDEX,
    .index = INDEX_SHUFFLE,
    STAGE_PARAMS(shuffle_params),
    .args_size = sizeof(shuffle_args),
};

static sluice_status check_shard(void *opaque)
{
    const shard_args *args = opaque;

    if (args->world == 0) {
        return sli_fail(SLUICE_E_INVALID, "shard: world=0 must be at least 1");
    }
    if (args->world < PARAM_RANK_NONE && args->rank < PARAM_RANK_NONE &&
        args->rank >= args->world) {
        return sli_fail(SLUICE_E_INVALID, "shard: rank=%u must be less than world=%u", args->rank,
                        args->world);
    }
    if (args->world == PARAM_RANK_NONE && args->rank != PARAM_RANK_NONE) {
        return sli_fail(SLUICE_E_INVALID, "shard: world cannot be none; `shard none` turns it off");
    }
    return SLUICE_OK;
}

static const stage_param shard_params[] = {
    PARAM_(shard_args, rank, PARAM_RANK, "run", 0, 0, NULL,
           "index of the part; run: the rank of the run; none: every rank gets every sample"),
    PARAM_(shard_args, world, PARAM_RANK, "run", 0, 0, NULL,
           "number of parts; run: the number of ranks"),
};

const stage_def stage_shard = {
    .name = "shard",
    .summary = "Keeps every world-th sample from the rank-th on. Added automatically before "
               "batch if a run has several ranks and the pipeline has no shard.",
    .gives = "1/world of the samples",
    .details = "`shard none` disables the stage that is otherwise added if there are several "
               "ranks.",
    .kind = STAGE_INDEX,
    .index = INDEX_SHARD,
    STAGE_PARAMS(shard_params),
    .args_size = sizeof(shard_args),
    .check = check_shard,
};

uint64_t split_share(double fraction)
{
    return (uint64_t)(fraction * SPLIT_WHOLE + 0.5);
}

bool split_keeps(const split_args *args, const char *name)
{
    const uint64_t hash = sli_mix_in(sli_hash_text(name), args->seed);
    const uint64_t point = ((hash >> 32) * SPLIT_WHOLE) >> 32;
    const uint64_t share = split_share(args->fraction);
    const uint64_t test = split_share(args->test);

    switch (args->part) {
    case 0:
        return point < share;
    case 1:
        return point >= SPLIT_WHOLE - test - share && point < SPLIT_WHOLE - test;
    default:
        return point >= SPLIT_WHOLE - share;
    }
}

static sluice_status check_split(void *opaque)
{
    const split_args *args = opaque;

    if (split_share(args->fraction) == 0 ||
        split_share(args->fraction) + split_share(args->test) > SPLIT_WHOLE) {
        return sli_fail(
            SLUICE_E_INVALID,
            "split: fraction=%.9g test=%.9g must be more than 0, and 1 at most together",
            args->fraction, args->test);
    }
    return SLUICE_OK;
}

static const stage_param split_params[] = {
    PARAM_(split_args, part, PARAM_CHOICE, NULL, 0, 0, parts, "the part to keep"),
    PARAM_(split_args, fraction, PARAM_REAL, NULL, 0, 1, NULL, "share of all samples"),
    PARAM_(split_args, seed, PARAM_COUNT, "0", 0, 0, NULL, "seed of the hash of the names"),
    PARAM_(split_args, test, PARAM_REAL, "0", 0, 1, NULL, "for val: the share of test"),
};

const stage_def stage_split = {
    .name = "split",
    .summary = "Keeps a part of the samples by a hash of their names: train is the low end of the "
               "hash's range, test the high end, val the part below test. A sample stays in its "
               "part when files are added.",
    .gives = "some of the samples",
    .details = "train is the first `fraction` of the range of the hash, test the last "
               "`fraction`. val is the `fraction` directly before the last `test`. fraction is "
               "more than 0, and fraction and test together are at most 1.",
    .kind = STAGE_INDEX,
    .index = INDEX_SPLIT,
    STAGE_PARAMS(split_params),
    .args_size = sizeof(split_args),
    .check = check_split,
};

static const stage_param take_params[] = {
    PARAM_(count_args, n, PARAM_COUNT, NULL, 0, 0, NULL, "number of samples to keep"),
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

static const stage_param skip_params[] = {
    PARAM_(count_args, n, PARAM_COUNT, NULL, 0, 0, NULL, "number of samples to skip"),
};

const stage_def stage_skip = {
    .name = "skip",
    .summary = "Skips the first n samples.",
    .gives = "the remaining samples",
    .kind = STAGE_INDEX,
    .index = INDEX_SKIP,
    STAGE_PARAMS(skip_params),
    .args_size = sizeof(count_args),
};

static const stage_param repeat_params[] = {
    PARAM_(count_args, n, PARAM_COUNT, NULL, 1, 1e9, NULL, "number of passes to join"),
};

const stage_def stage_repeat = {
    .name = "repeat",
    .summary = "Joins n passes into one; each has its own order and random numbers.",
    .gives = "n times the samples",
    .kind = STAGE_INDEX,
    .index = INDEX_REPEAT,
    STAGE_PARAMS(repeat_params),
    .args_size = sizeof(count_args),
};
