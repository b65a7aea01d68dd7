/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_int.h"
#include "testing.h"
#include "worker_pool_int.h"

#if !defined(__has_feature)
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

/* What the workers of a test leave behind. */
typedef struct tally {
    _Atomic uint32_t runs;
    _Atomic uint64_t numbers; /* a bit for each worker */
    char names[64][16];
} tally;

static void count_run(void *arg, uint32_t worker)
{
    tally *seen = arg;

    atomic_fetch_add(&seen->runs, 1);
    atomic_fetch_or(&seen->numbers, UINT64_C(1) << worker % 64);
    pthread_getname_np(pthread_self(), seen->names[worker % 64], sizeof(seen->names[0]));
}

static sli_placement *plan_workers(const char *synthetic, uint32_t workers)
{
    const sli_topology_config config = {.synthetic = synthetic};
    const sli_placement_request request = {.workers = workers, .node = -1};
    sli_topology *topology = NULL;
    sli_placement *placement = NULL;

    T_OK(sli_topology_open(&config, &topology));
    T_OK(sli_placement_plan(topology, &request, &placement));
    sli_topology_close(topology);
    return placement;
}

static void every_worker_runs_once(void)
{
    sli_placement *placement = plan_workers(NULL, 40);
    sli_worker_pool *pool = NULL;
    tally seen = {.runs = 0};

    T_OK(sli_worker_pool_start(placement, "read", count_run, &seen, &pool));
    T_EQ(sli_worker_pool_count(pool), 40);
    sli_placement_free(placement); /* it was copied */
    sli_worker_pool_wait(pool);
    T_EQ(atomic_load(&seen.runs), 40);
    T_TRUE(sli_cpus_count(&sli_worker_pool_thread(pool, 39)->got) > 0); /* still answered */
    sli_worker_pool_join(pool);
    T_EQ(atomic_load(&seen.numbers), (UINT64_C(1) << 40) - 1);
    T_STR(seen.names[0], "read/0");
    T_STR(seen.names[39], "read/39");
    sli_worker_pool_join(NULL);
}

static void the_number_in_a_name_is_never_cut_off(void)
{
    sli_placement *placement = plan_workers(NULL, 12);
    sli_worker_pool *pool = NULL;
    tally seen = {.runs = 0};

    T_OK(sli_worker_pool_start(placement, "a name too long", count_run, &seen, &pool));
    sli_worker_pool_join(pool);
    sli_placement_free(placement);
    T_STR(seen.names[11], "a name to/11");
}

static void workers_run_on_their_cores(void)
{
    sli_placement *placement = plan_workers(NULL, 0);
    sli_worker_pool *pool = NULL;
    tally seen = {.runs = 0};
    bool pinned = true;

    T_OK(sli_worker_pool_start(placement, "pinned", count_run, &seen, &pool));
    for (uint32_t w = 0; w < sli_worker_pool_count(pool); w++) {
        const sli_thread *thread = sli_worker_pool_thread(pool, w);

        T_EQ(memcmp(&thread->wanted, &placement->worker_cpus[w], sizeof(sli_cpus)), 0);
        T_TRUE(sli_cpus_count(&thread->got) > 0);
        pinned = pinned && memcmp(&thread->got, &thread->wanted, sizeof(sli_cpus)) == 0;
    }
    sli_worker_pool_join(pool);
    sli_placement_free(placement);
    T_NEEDS(pinned, "the kernel does not let threads be pinned");
}

/* A plan for another machine is no error: the threads run where the kernel lets them. */
static void cpus_that_are_not_there_are_no_error(void)
{
    sli_placement *placement = plan_workers("pack:4 core:1000 pu:1", 2);
    sli_worker_pool *pool = NULL;
    tally seen = {.runs = 0};

    memset(placement->worker_cpus, 0, 2 * sizeof(*placement->worker_cpus));
    sli_cpus_add(&placement->worker_cpus[0], 4095);
    T_OK(sli_worker_pool_start(placement, "far", count_run, &seen, &pool));
    T_TRUE(sli_cpus_count(&sli_worker_pool_thread(pool, 0)->got) > 0);
    sli_worker_pool_join(pool);
    sli_placement_free(placement);
    T_EQ(atomic_load(&seen.runs), 2);
}

static void starting_survives_running_out_of_memory(void)
{
    sli_placement *placement = plan_workers(NULL, 3);
    sli_worker_pool *pool = NULL;
    tally seen = {.runs = 0};
    int64_t passes = 0;
    sluice_status st;

    do {
        T_EQ(atomic_load(&seen.runs), 0);
        sli_alloc_fail_after(passes++);
        st = sli_worker_pool_start(placement, "short", count_run, &seen, &pool);
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
    } while (st != SLUICE_OK);
    T_TRUE(passes > 2);
    sli_worker_pool_join(pool);
    sli_placement_free(placement);
}

/* In a child: with hardly any address space left, some of the threads' stacks cannot be had. */
static int start_without_stacks(sli_placement *placement)
{
    const struct rlimit little = {64 << 20, 64 << 20};
    sli_worker_pool *pool = NULL;
    tally seen = {.runs = 0};
    sluice_status st;

    if (setrlimit(RLIMIT_AS, &little) != 0) {
        return 2;
    }
    st = sli_worker_pool_start(placement, "stack", count_run, &seen, &pool);
    if (st == SLUICE_OK) {
        sli_worker_pool_join(pool);
        return 2;
    }
    return st == SLUICE_E_NO_MEMORY && atomic_load(&seen.runs) == 0 && pool == NULL ? 0 : 1;
}

static void when_a_thread_cannot_start_none_runs(void)
{
    sli_placement *placement = NULL;
    int status = 0;
    pid_t child;

    T_NEEDS(!sanitized, "sanitizers need the address space");
    placement = plan_workers(NULL, 200);
    child = fork();
    if (child == 0) {
        alarm(60);
        _exit(start_without_stacks(placement));
    }
    waitpid(child, &status, 0);
    sli_placement_free(placement);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        T_SKIP("the address space cannot be limited here");
    }
    T_EQ(status, 0);
}

typedef struct door {
    _Atomic bool open;
} door;

static void wait_at_door(void *arg, uint32_t worker)
{
    door *waiting = arg;

    (void)worker;
    while (!atomic_load(&waiting->open)) {
        sched_yield();
    }
}

/* The threads are the parent's; a child that waited for them would wait for ever. */
static void a_child_process_can_let_go_of_a_pool(void)
{
    sli_placement *placement = plan_workers(NULL, 2);
    sli_worker_pool *pool = NULL;
    door shut = {false};
    int status = 1;
    pid_t child;

    T_OK(sli_worker_pool_start(placement, "parent", wait_at_door, &shut, &pool));
    child = fork();
    if (child == 0) {
        alarm(60);
        sli_worker_pool_wait(pool);
        sli_worker_pool_join(pool);
        _exit(0);
    }
    waitpid(child, &status, 0);
    atomic_store(&shut.open, true);
    sli_worker_pool_join(pool);
    sli_placement_free(placement);
    T_EQ(status, 0);
}

const t_test worker_pool_tests[] = {
    T_TEST(every_worker_runs_once),
    T_TEST(the_number_in_a_name_is_never_cut_off),
    T_TEST(workers_run_on_their_cores),
    T_TEST(cpus_that_are_not_there_are_no_error),
    T_TEST(starting_survives_running_out_of_memory),
    T_TEST(when_a_thread_cannot_start_none_runs),
    T_TEST(a_child_process_can_let_go_of_a_pool),
    T_END,
};
