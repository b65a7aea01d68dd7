/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that divide the cores of this machine, as the ranks of a job. */
#include "rank_cores_int.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks_kit.h"
#include "testing.h"

/* What a rank found. */
typedef struct found {
    sluice_status status;
    bool divided;
    bool knows; /* the processes of all ranks, which run */
    bool again; /* a second call has the same result, without an exchange */
    sli_cpus allowed;
    sli_rank_part part;
} found;

static found *of(const ranks_kit *ranks, uint32_t rank)
{
    return (found *)ranks->shared + rank;
}

/* The ranks of this test are a job of their own. */
static void begin(const char *timeout_ms)
{
    char run[40];

    snprintf(run, sizeof(run), "test-%d", (int)getppid());
    setenv("TORCHELASTIC_RUN_ID", run, 1);
    setenv("SLUICE_EXCHANGE_MS", timeout_ms, 1);
    sli_rank_cores_forget();
}

/* True if the exchange has found the processes of all ranks, and this one is what it says. */
static bool knows_all(const ranks_member *me)
{
    sli_rank_peer peer;

    for (uint32_t r = 0; r < me->world; r++) {
        if (!sli_rank_peer_get(r, &peer) || peer.rank != r || peer.pid <= 0 ||
            (r == me->rank) != (peer.pid == (int32_t)getpid()) ||
            (r == me->rank && sli_rank_peer_state(&peer) != SLI_PEER_RUNS)) {
            return false;
        }
    }
    return !sli_rank_peer_get(me->world, &peer);
}

static int find_cores(ranks_member *me, const char *cores, const char *timeout_ms)
{
    found *mine = (found *)me->shared + me->rank;
    sluice_ranks ranks = {.struct_size = sizeof(ranks)};
    sli_topology *topology = NULL;
    sli_cores_setting setting;
    sli_rank_part part;
    bool divided = false;

    begin(timeout_ms);
    mine->status = sluice_ranks_find(&ranks);
    if (mine->status == SLUICE_OK) {
        mine->status = sli_topology_open(NULL, &topology);
    }
    if (mine->status != SLUICE_OK || !sli_cores_parse(cores, &setting)) {
        return 1;
    }
    mine->allowed = topology->allowed;
    mine->status = sli_rank_cores(topology, &ranks, -1, &setting, &mine->part, &mine->divided);
    mine->knows = knows_all(me);
    memset(&part, 0, sizeof(part));
    if (sli_rank_cores(topology, &ranks, 0, &setting, &part, &divided) == SLUICE_OK) {
        mine->again = divided == mine->divided &&
                      memcmp(&part.cpus, &mine->part.cpus, sizeof(part.cpus)) == 0;
    }
    sli_topology_close(topology);
    return 0;
}

static int find_part(ranks_member *me)
{
    return find_cores(me, "auto", "60000");
}

static int find_all(ranks_member *me)
{
    return find_cores(me, me->rank == 1 ? "all" : "auto", "60000");
}

static int find_alone(ranks_member *me)
{
    return me->rank == 0 ? find_cores(me, "auto", "100") : 0;
}

static int find_nothing(ranks_member *me)
{
    return find_cores(me, "auto", "0");
}

static void run_ranks(ranks_kit *ranks, uint32_t world, int (*body)(ranks_member *me))
{
    ranks_start(ranks, world, world * sizeof(found), body);
    T_TRUE(ranks_join(ranks));
    for (uint32_t r = 0; r < world; r++) {
        T_EQ(ranks->exits[r], 0);
        T_EQ(of(ranks, r)->status, SLUICE_OK);
    }
}

static void the_ranks_of_a_machine_divide_its_cores(void)
{
    for (uint32_t world = 2; world <= 5; world += 3) {
        ranks_kit ranks;
        sli_cpus all = {{0}};

        run_ranks(&ranks, world, find_part);
        for (uint32_t r = 0; r < world; r++) {
            const found *rank = of(&ranks, r);

            T_TRUE(rank->divided && rank->again && rank->knows);
            T_TRUE(sli_cpus_next(&rank->part.cpus, 0) >= 0);
            T_TRUE(rank->part.memory_limit > 0);
            for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
                T_TRUE(rank->part.shared || (all.bits[i] & rank->part.cpus.bits[i]) == 0 ||
                       of(&ranks, r - 1)->part.shared);
                all.bits[i] |= rank->part.cpus.bits[i];
            }
        }
        T_EQ(memcmp(&all, &of(&ranks, 0)->allowed, sizeof(all)), 0);
        ranks_end(&ranks);
    }
}

static sli_peer_state state_after(const sli_rank_peer *peer, int signal, int options)
{
    T_EQ(kill(peer->pid, signal), 0);
    T_EQ(waitpid(peer->pid, NULL, options), peer->pid);
    return sli_rank_peer_state(peer);
}

static void a_process_that_is_stopped_or_gone_is_known(void)
{
    sli_rank_peer peer;
    sli_rank_peer other;
    int ends[2];
    pid_t child;

    T_EQ(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        sli_rank_peer_self(3, &peer);
        _exit(write(ends[1], &peer, sizeof(peer)) == (ssize_t)sizeof(peer) ? pause() : 1);
    }
    T_EQ(read(ends[0], &peer, sizeof(peer)), (ssize_t)sizeof(peer));
    close(ends[0]);
    close(ends[1]);
    T_EQ(peer.rank, 3);
    T_EQ(peer.pid, child);
    T_EQ(sli_rank_peer_state(&peer), SLI_PEER_RUNS);
    other = peer;
    other.start_time++; /* another process has the id now */
    T_EQ(sli_rank_peer_state(&other), SLI_PEER_GONE);
    other = peer;
    other.pid_namespace++;
    T_EQ(sli_rank_peer_state(&other), SLI_PEER_UNKNOWN);
    T_EQ(state_after(&peer, SIGSTOP, WUNTRACED), SLI_PEER_STOPPED);
    T_EQ(state_after(&peer, SIGCONT, WCONTINUED), SLI_PEER_RUNS);
    T_EQ(kill(child, SIGKILL), 0);
    while (sli_rank_peer_state(&peer) == SLI_PEER_RUNS) { /* until it is a zombie */
        sched_yield();
    }
    T_EQ(sli_rank_peer_state(&peer), SLI_PEER_GONE);
    T_EQ(waitpid(child, NULL, 0), child);
    T_EQ(sli_rank_peer_state(&peer), SLI_PEER_GONE);
}

static void a_rank_may_take_all(void)
{
    ranks_kit ranks;

    run_ranks(&ranks, 3, find_all);
    T_TRUE(of(&ranks, 0)->divided && of(&ranks, 2)->divided);
    T_TRUE(!of(&ranks, 1)->divided && of(&ranks, 1)->again);
    T_TRUE(of(&ranks, 0)->part.shared);
    ranks_end(&ranks);
}

/* The call succeeds; there is only a warning. */
static void a_rank_whose_others_do_not_come_has_no_division(void)
{
    ranks_kit ranks;

    run_ranks(&ranks, 2, find_alone);
    T_TRUE(!of(&ranks, 0)->divided && of(&ranks, 0)->again && !of(&ranks, 0)->knows);
    ranks_end(&ranks);
    run_ranks(&ranks, 2, find_nothing);
    T_TRUE(!of(&ranks, 0)->divided && !of(&ranks, 1)->divided);
    ranks_end(&ranks);
}

static void one_rank_or_an_unknown_number_divides_nothing(void)
{
    static const sluice_ranks cases[] = {{.world = 1, .local_world = 1}, {.rank = 3, .world = 8}};
    const sli_cores_setting setting = {.kind = SLI_CORES_AUTO};
    sli_topology *topology = NULL;

    T_OK(sli_topology_open(NULL, &topology));
    for (size_t i = 0; i < 2; i++) {
        sli_rank_part part;
        bool divided = true;

        T_OK(sli_rank_cores(topology, &cases[i], -1, &setting, &part, &divided));
        T_TRUE(!divided);
    }
    sli_topology_close(topology);
}

static void a_bad_time_out_is_refused(void)
{
    static const char *const bad[] = {"x", "-1", "5s", "600001", "99999999999999999999", " 5"};
    const sluice_ranks ranks = {.world = 2, .local_world = 2};
    const sli_cores_setting setting = {.kind = SLI_CORES_AUTO};
    sli_topology *topology = NULL;

    T_OK(sli_topology_open(NULL, &topology));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sli_rank_part part;
        bool divided;

        setenv("SLUICE_EXCHANGE_MS", bad[i], 1);
        T_STATUS(sli_rank_cores(topology, &ranks, -1, &setting, &part, &divided), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "SLUICE_EXCHANGE_MS");
    }
    unsetenv("SLUICE_EXCHANGE_MS");
    sli_topology_close(topology);
}

const t_test rank_cores_tests[] = {
    T_TEST(the_ranks_of_a_machine_divide_its_cores),
    T_TEST(a_process_that_is_stopped_or_gone_is_known),
    T_TEST(a_rank_may_take_all),
    T_TEST(a_rank_whose_others_do_not_come_has_no_division),
    T_TEST(one_rank_or_an_unknown_number_divides_nothing),
    T_TEST(a_bad_time_out_is_refused),
    T_END,
};
