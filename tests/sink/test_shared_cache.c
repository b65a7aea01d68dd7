/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of a machine with one cache: each sample is read once, by whichever rank meets it first. */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fallocate_kit.h"
#include "log_kit.h"
#include "ranks_kit.h"
#include "testing.h"
#include "train_kit.h"

enum { WORLD = 4, SAMPLES = 96, PASSES = 3 };

static const char pipeline_text[] =
    "synthetic samples=96 classes=5 shape=20,18,3 | shuffle | cache 1M shared=true | random_crop "
    "12 | batch 4";
static const char other_bytes[] =
    "synthetic samples=96 classes=5 shape=20,18,3 | shuffle | cache 2M shared=true | random_crop "
    "12 | batch 4";
#define TWO_LABELS                                                                                 \
    "zip (synthetic samples=96 classes=5 shape=20,18,3) (synthetic samples=96 classes=3 "          \
    "shape=1,1,1 | drop image | rename label more) | shuffle | cache 1M shared=true | "
static const char two_labels[] = TWO_LABELS "random_crop 12 | batch 4";
static const char other_columns[] = TWO_LABELS "random_crop 12 | drop more | batch 4";
static const char plain_text[] =
    "synthetic samples=96 classes=5 shape=20,18,3 | shuffle | random_crop 12 | batch 4";

/* Results of a rank. */
typedef struct cached_rank {
    sluice_status status;
    char error[500];
    char log[2000];
    uint64_t digests[2];
    bool has_cache;
    sli_cache_counts first;  /* after the first run */
    sli_cache_counts second; /* after the second one */
} cached_rank;

/* Settings of the current test, for its child processes. */
static const char *pipeline;
static bool is_misled;    /* rank 1 has another pipeline */
static const char *other; /* this one */
static const char *exchange_ms;
static bool is_memory_short; /* memory for the table and one step of samples, all of rank 0 */

static cached_rank *of(const ranks_kit *ranks, uint32_t rank)
{
    return (cached_rank *)ranks->shared + rank;
}

/* The ranks of this test are a job of their own. */
static void name_job(void)
{
    char run[40];

    snprintf(run, sizeof(run), "cache-%d", (int)getppid());
    setenv("TORCHELASTIC_RUN_ID", run, 1);
    setenv("SLUICE_EXCHANGE_MS", exchange_ms, 1);
}

static void set_up(kit *k, ranks_member *me)
{
    kit_init(k);
    k->config.workers = 2;
    k->config.digest = true;
    k->config.agree = is_misled ? NULL : ranks_agree; /* agree would refuse another pipeline */
    k->config.agree_user = me;
    k->config.nan_guard = SLUICE_NAN_COUNT;
}

/* Waits for the other ranks: else one may begin its second pass, and get a sample that another rank
 * is still reading in its first pass. */
static void await_others(ranks_member *me)
{
    int64_t most;

    if (!is_misled) {
        (void)ranks_agree(0, &most, me);
    }
}

/* Two runs on one dataset: a pass, then the others. */
static void train_twice(ranks_member *me, cached_rank *out)
{
    sluice_dataset *dataset = NULL;
    kit k;

    out->status = sluice_dataset_parse(is_misled && me->rank == 1 ? other : pipeline, &dataset);
    if (out->status != SLUICE_OK) {
        return;
    }
    set_up(&k, me);
    k.dataset = dataset;
    for (uint32_t run = 0; run < 2 && out->status == SLUICE_OK; run++) {
        k.config.epochs = run == 0 ? 1 : PASSES - 1;
        out->status = kit_run(&k);
        snprintf(out->error, sizeof(out->error), "%.400s", k.error);
        out->digests[run] = k.report->stats.digest;
        out->has_cache = k.report->has_cache;
        *(run == 0 ? &out->first : &out->second) = k.report->cache;
        await_others(me);
    }
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

static int body(ranks_member *me)
{
    cached_rank *mine = (cached_rank *)me->shared + me->rank;

    name_job();
    fallocate_fail_after(!is_memory_short ? -1 : me->rank == 0 ? 2 : 0, ENOSPC);
    kit_log_start(NULL, NULL);
    train_twice(me, mine);
    snprintf(mine->log, sizeof(mine->log), "%s", kit_log_stop());
    ranks_tell(me);
    return 0;
}

static void run_ranks(ranks_kit *ranks, const char *text, uint32_t world)
{
    pipeline = text;
    ranks_start(ranks, world, world * sizeof(cached_rank), body);
    T_TRUE(ranks_join(ranks));
    for (uint32_t r = 0; r < world; r++) {
        T_EQ(ranks->exits[r], 0);
        if (of(ranks, r)->status != SLUICE_OK) {
            T_FAIL_("rank %u: %s", r, of(ranks, r)->error);
        }
    }
}

static void ranks_read_each_sample_once(void)
{
    ranks_kit plain;
    ranks_kit cached;
    uint64_t misses = 0;

    exchange_ms = "60000";
    is_misled = false;
    run_ranks(&plain, plain_text, WORLD);
    run_ranks(&cached, pipeline_text, WORLD);
    for (uint32_t r = 0; r < WORLD; r++) {
        const cached_rank *rank = of(&cached, r);

        misses += rank->first.misses + rank->second.misses;
        T_EQ(rank->digests[0], of(&plain, r)->digests[0]);
        T_EQ(rank->digests[1], of(&plain, r)->digests[1]);
        T_TRUE(rank->has_cache);
        T_EQ(rank->second.hits, (PASSES - 1) * SAMPLES / WORLD);
        T_EQ(rank->second.entries, SAMPLES);
        T_EQ(rank->second.ranks, WORLD);
        T_TRUE(strstr(rank->log, "cache") == NULL);
    }
    T_EQ(misses, SAMPLES);
    ranks_end(&plain);
    ranks_end(&cached);
}

/* Without an exchange each rank has its part of the bytes. */
static void ranks_that_cannot_share_have_private_caches(void)
{
    ranks_kit ranks;

    exchange_ms = "0";
    is_misled = false;
    run_ranks(&ranks, pipeline_text, 2);
    for (uint32_t r = 0; r < 2; r++) {
        const cached_rank *rank = of(&ranks, r);

        T_EQ(rank->second.ranks, 1);
        T_EQ(rank->second.limit, (1 << 20) / 2);
        T_TRUE(rank->second.entries >= SAMPLES / 2); /* its part of a pass, and of the next ones */
        T_CONTAINS(rank->log, "do not share their cache: SLUICE_EXCHANGE_MS is 0");
    }
    ranks_end(&ranks);
}

static void a_part_too_small_for_its_table_is_no_cache(void)
{
    ranks_kit ranks;

    exchange_ms = "0";
    is_misled = false;
    run_ranks(&ranks,
              "synthetic samples=600 classes=5 shape=2,2,3 | cache 6K shared=true | batch 4", 2);
    for (uint32_t r = 0; r < 2; r++) {
        T_TRUE(!of(&ranks, r)->has_cache);
        T_CONTAINS(of(&ranks, r)->log, "This rank has none: cache: ");
    }
    ranks_end(&ranks);
}

/* The ranks exchange records at the same socket, since the bytes are not part of its name. */
static void ranks_do_not_share(const char *own, const char *of_rank_1)
{
    ranks_kit ranks;

    other = of_rank_1;
    exchange_ms = "60000";
    is_misled = true;
    run_ranks(&ranks, own, 2);
    for (uint32_t r = 0; r < 2; r++) {
        T_EQ(of(&ranks, r)->second.ranks, 1);
        T_CONTAINS(of(&ranks, r)->log, "local ranks 0 and 1 cache different samples or columns");
    }
    ranks_end(&ranks);
}

static void ranks_with_other_bytes_or_columns_do_not_share(void)
{
    ranks_do_not_share(pipeline_text, other_bytes);
    ranks_do_not_share(two_labels, other_columns);
}

/*
 * All samples need two steps of memory, and the kernel allocates one. The rank that needs the
 * second one first warns; both go on, and read what is there.
 */
static void ranks_without_memory_go_on(void)
{
    static const char images[] = "synthetic samples=96 classes=5 shape=120,110,3 | shuffle | ";
    static const char warning[] = "MB are in use, and no more samples are added";
    uint32_t short_ranks = 0;
    char plain[200];
    char cached[200];
    ranks_kit ranks;
    ranks_kit want;

    exchange_ms = "60000";
    is_misled = false;
    snprintf(plain, sizeof(plain), "%srandom_crop 12 | batch 4", images);
    snprintf(cached, sizeof(cached), "%scache 16M shared=true | random_crop 12 | batch 4", images);
    run_ranks(&want, plain, 2);
    is_memory_short = true;
    run_ranks(&ranks, cached, 2);
    is_memory_short = false;
    for (uint32_t r = 0; r < 2; r++) {
        const cached_rank *rank = of(&ranks, r);

        T_EQ(rank->digests[0], of(&want, r)->digests[0]);
        T_EQ(rank->digests[1], of(&want, r)->digests[1]);
        T_EQ(rank->second.ranks, 2);
        T_TRUE(rank->second.hits > 0);
        T_EQ(rank->second.is_full, strstr(rank->log, warning) != NULL);
        short_ranks += rank->second.is_full;
    }
    T_TRUE(short_ranks > 0);
    ranks_end(&want);
    ranks_end(&ranks);
}

/* ---- a killed rank --------------------------------------------------------------------------- */

/* Kills the victim in its second run, in which workers read the cache. */
static void kill_in_step_2(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == 2) {
        raise(SIGKILL);
    }
}

static int body_of_killed(ranks_member *me)
{
    cached_rank *mine = (cached_rank *)me->shared + me->rank;
    sluice_dataset *dataset = NULL;
    int64_t most;
    kit k;

    name_job();
    is_misled = true; /* no agree: the other ranks do not fail when the victim ends */
    set_up(&k, me);
    mine->status = sluice_dataset_parse(pipeline_text, &dataset);
    k.dataset = dataset;
    for (uint32_t run = 0; run < 2 && mine->status == SLUICE_OK; run++) {
        k.config.epochs = run == 0 ? 1 : PASSES - 1;
        k.in_step = run == 1 && me->rank == 1 ? kill_in_step_2 : NULL;
        mine->status = kit_run(&k);
        mine->digests[run] = k.report->stats.digest;
        *(run == 0 ? &mine->first : &mine->second) = k.report->cache;
        if (run == 0) {
            (void)ranks_agree(0, &most, me);
        }
    }
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
    return 0;
}

static void a_killed_rank_leaves_its_samples_to_the_others(void)
{
    ranks_kit killed;
    ranks_kit plain;

    exchange_ms = "60000";
    is_misled = false;
    run_ranks(&plain, plain_text, 2);
    ranks_start(&killed, 2, 2 * sizeof(cached_rank), body_of_killed);
    T_TRUE(ranks_join(&killed));
    T_EQ(killed.exits[1], -SIGKILL);
    T_EQ(killed.exits[0], 0);
    T_EQ(of(&killed, 0)->status, SLUICE_OK);
    T_EQ(of(&killed, 0)->digests[1], of(&plain, 0)->digests[1]);
    T_EQ(of(&killed, 0)->second.ranks, 2);
    T_EQ(of(&killed, 0)->second.hits, (PASSES - 1) * SAMPLES / 2);
    ranks_end(&plain);
    ranks_end(&killed);
}

static int body_of_all_killed(ranks_member *me)
{
    kit k;

    name_job();
    is_misled = true;
    set_up(&k, me);
    k.pipeline = pipeline_text;
    k.in_step = kill_in_step_2;
    (void)kit_run(&k);
    return 1; /* not reached */
}

/* No named memory and no exchange socket remain: the next job begins like the first one. */
static void ranks_that_are_all_killed_leave_nothing(void)
{
    exchange_ms = "60000";
    for (uint32_t job = 0; job < 2; job++) {
        ranks_kit ranks;
        glob_t found;

        ranks_start(&ranks, 2, 2 * sizeof(cached_rank), body_of_all_killed);
        T_TRUE(ranks_join(&ranks));
        T_EQ(ranks.exits[0], -SIGKILL);
        T_EQ(ranks.exits[1], -SIGKILL);
        T_EQ(glob("/dev/shm/*sluice*", 0, NULL, &found), GLOB_NOMATCH);
        ranks_end(&ranks);
    }
}

/* ---- one process ----------------------------------------------------------------------------- */

static void a_process_alone_has_a_private_cache(void)
{
    kit k;

    kit_init(&k);
    k.pipeline = pipeline_text;
    k.config.epochs = PASSES;
    kit_log_start(NULL, NULL);
    T_OK(kit_run(&k));
    T_STR(kit_log_stop(), "");
    T_TRUE(k.report->has_cache);
    T_EQ(k.report->cache.ranks, 1);
    T_EQ(k.report->cache.limit, 1 << 20);
    kit_fini(&k);
}

const t_test shared_cache_tests[] = {
    T_TEST(ranks_read_each_sample_once),
    T_TEST(ranks_that_cannot_share_have_private_caches),
    T_TEST(a_part_too_small_for_its_table_is_no_cache),
    T_TEST(ranks_with_other_bytes_or_columns_do_not_share),
    T_TEST(ranks_without_memory_go_on),
    T_TEST(a_killed_rank_leaves_its_samples_to_the_others),
    T_TEST(ranks_that_are_all_killed_leave_nothing),
    T_TEST(a_process_alone_has_a_private_cache),
    T_END,
};
