/* SPDX-License-Identifier: Apache-2.0 */
/* How a rank names the others of its machine: three ranks of which rank 1 calls agree less often,
 * and rank 2 has failed. */
#include "peer_states.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank_board_int.h"
#include "rank_cores_int.h"
#include "ranks_kit.h"
#include "testing.h"

enum { WORLD = 3 };

/* The texts of a rank, "-" if a function returned false, and its process. */
typedef struct texts {
    char in_step[300];
    char in_agree[300];
    char late[300];           /* all ranks are on this machine */
    char late_elsewhere[300]; /* 4 ranks are on other machines */
    char unknown[300];        /* of one rank of this machine nothing is known */
    int pid;
} texts;

static void keep(sli_text *text, bool known, char kept[300])
{
    snprintf(kept, 300, "%s", !known ? "-" : text->data == NULL ? "" : text->data);
    sli_text_free(text);
}

static void list(sluice_ranks ranks, uint32_t world, uint32_t local_world, char kept[300])
{
    sli_text text = {0};

    ranks.world = world;
    ranks.local_world = local_world;
    keep(&text, peer_states_list_late(&ranks, &text), kept);
}

static void barrier(ranks_member *me)
{
    int64_t most;

    (void)!ranks_agree(0, &most, me);
}

/* Exchanges the cores, which finds the processes and opens the board. */
static bool meet(sluice_ranks *ranks)
{
    const sli_cores_setting setting = {.kind = SLI_CORES_AUTO};
    sli_topology *topology = NULL;
    sli_rank_part part;
    bool divided = false;
    char name[40];

    snprintf(name, sizeof(name), "peers-%d", (int)getppid());
    setenv("SLUICE_JOB", name, 1);
    setenv("SLUICE_EXCHANGE_MS", "60000", 1);
    sli_rank_cores_forget();
    if (sluice_ranks_find(ranks) != SLUICE_OK || sli_topology_open(NULL, &topology) != SLUICE_OK ||
        sli_rank_cores(topology, ranks, -1, &setting, &part, &divided) != SLUICE_OK) {
        return false;
    }
    sli_topology_close(topology);
    return sli_rank_board_enter_run();
}

static int describe(ranks_member *me)
{
    texts *own = (texts *)me->shared + me->rank;
    sluice_ranks ranks = {.struct_size = sizeof(ranks)};
    sli_text text = {0};

    own->pid = (int)getpid();
    if (!meet(&ranks)) {
        return 1;
    }
    sli_rank_board_count(10);
    if (me->rank != 1) {
        sli_rank_board_count(20);
    }
    if (me->rank == 2) {
        sli_rank_board_fail();
    }
    barrier(me);
    peer_states_describe(me->rank, &text);
    keep(&text, true, own->in_step);
    peer_states_describe_late(me->rank, &text);
    keep(&text, true, own->in_agree);
    list(ranks, WORLD, WORLD, own->late);
    list(ranks, WORLD + 4, WORLD, own->late_elsewhere);
    list(ranks, WORLD + 1, WORLD + 1, own->unknown);
    barrier(me);
    return 0;
}

static void ranks_that_have_failed_or_not_come_are_named(void)
{
    const texts *rank;
    ranks_kit ranks;
    char words[500];
    char host[100] = "";

    ranks_start(&ranks, WORLD, WORLD * sizeof(texts), describe);
    T_TRUE(ranks_join(&ranks));
    rank = ranks.shared;
    (void)gethostname(host, sizeof(host) - 1);

    snprintf(words, sizeof(words), "; rank 2 (process %d) has failed", rank[2].pid);
    T_STR(rank[0].in_step, words);
    T_STR(rank[2].in_step, "");
    snprintf(words, sizeof(words),
             "; rank 1 (process %d) has not come, its last boundary was after step 10",
             rank[1].pid);
    T_STR(rank[0].in_agree, words);
    T_STR(rank[1].in_agree, "");
    snprintf(words, sizeof(words), "rank 1 (process %d on %s, last boundary after step 10)",
             rank[1].pid, host);
    T_STR(rank[2].late, words);
    T_STR(rank[1].late, "-"); /* all others have come */
    T_STR(rank[1].late_elsewhere,
          "the 4 ranks of other machines, of which it is not known which have come");
    T_STR(rank[2].unknown, "-");
    snprintf(words, sizeof(words),
             "rank 1 (process %d on %s, last boundary after step 10); and the 4 ranks of other "
             "machines, of which it is not known which have come",
             rank[1].pid, host);
    T_STR(rank[0].late_elsewhere, words);
    ranks_end(&ranks);
}

const t_test peer_states_tests[] = {
    T_TEST(ranks_that_have_failed_or_not_come_are_named),
    T_END,
};
