/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_cores_int.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_int.h"
#include "rank_board_int.h"
#include "rank_exchange_int.h"
#include "status_int.h"

enum { EXCHANGE_MS = 5000, MOST_EXCHANGE_MS = 600000 };

/* What a rank sends. */
typedef struct record {
    uint64_t
        machine; /* hash of the machine's cores; if ranks have different ones, nothing is divided */
    sli_rank_claim claim;
    sli_rank_peer peer;
} record;

/* The result of this process's exchange; `lock` guards all fields. */
static struct {
    pthread_mutex_t lock;
    bool tried;
    bool divided;
    uint32_t fork_generation;
    uint32_t rank;
    uint32_t world;
    uint32_t local_rank;
    uint32_t local_world;
    sli_cores_setting setting;
    sli_rank_part part;
    sli_rank_peer *peers; /* (peer_count), by local rank; replaced by the next exchange */
    uint32_t peer_count;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- settings -------------------------------------------------------------------------------- */

/* Reads a number below SLI_MAX_CPUS, and moves *text past it. */
static bool read_cpu(const char **text, uint32_t *cpu_out)
{
    const size_t digits = strspn(*text, "0123456789");
    unsigned long cpu;

    if (digits == 0 || digits > 6) {
        return false;
    }
    cpu = strtoul(*text, NULL, 10);
    *text += digits;
    *cpu_out = (uint32_t)cpu;
    return cpu < SLI_MAX_CPUS;
}

static bool read_list(const char *text, sli_cpus *list)
{
    do {
        uint32_t first = 0;
        uint32_t last;

        if (!read_cpu(&text, &first)) {
            return false;
        }
        last = first;
        if (*text == '-') {
            text++;
            if (!read_cpu(&text, &last) || last < first) {
                return false;
            }
        }
        for (uint32_t cpu = first; cpu <= last; cpu++) {
            sli_cpus_add(list, cpu);
        }
    } while (*text++ == ',');
    return text[-1] == '\0';
}

bool sli_cores_parse(const char *text, sli_cores_setting *setting_out)
{
    memset(setting_out, 0, sizeof(*setting_out));
    if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0) {
        return true;
    }
    if (strcmp(text, "all") == 0) {
        setting_out->kind = SLI_CORES_ALL;
        return true;
    }
    setting_out->kind = SLI_CORES_LIST;
    return read_list(text, &setting_out->list);
}

sluice_status sli_rank_exchange_timeout(int64_t *timeout_ms_out)
{
    const char *value = getenv("SLUICE_EXCHANGE_MS");
    char *end = NULL;
    unsigned long number;

    *timeout_ms_out = EXCHANGE_MS;
    if (value == NULL || value[0] == '\0') {
        return SLUICE_OK;
    }
    number = strtoul(value, &end, 10);
    if (strspn(value, "0123456789") != strlen(value) || strlen(value) > 6 ||
        number > MOST_EXCHANGE_MS) {
        return sli_fail(SLUICE_E_INVALID,
                        "environment: SLUICE_EXCHANGE_MS is \"%.100s\", and must be milliseconds "
                        "from 0 (no exchange) to %d; correct it, or unset it",
                        value, MOST_EXCHANGE_MS);
    }
    *timeout_ms_out = (int64_t)number;
    return SLUICE_OK;
}

/* ---- the exchange ---------------------------------------------------------------------------- */

static uint64_t hash_of(const sli_topology *topology)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (uint32_t c = 0; c < topology->all_core_count; c++) {
        const sli_core *core = &topology->all_cores[c];
        const uint64_t words[] = {core->id, core->package, (uint64_t)core->node};

        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            hash = (hash ^ words[i]) * UINT64_C(0x100000001B3);
        }
        for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
            hash = (hash ^ core->cpus.bits[i]) * UINT64_C(0x100000001B3);
        }
    }
    return hash;
}

static sluice_status check_machines(const record *records, uint32_t count)
{
    for (uint32_t r = 1; r < count; r++) {
        if (records[r].machine != records[0].machine) {
            return sli_fail(SLUICE_E_INVALID,
                            "local ranks 0 and %u see different machines (containers with parts "
                            "of /sys?)",
                            r);
        }
    }
    return SLUICE_OK;
}

/* Divides the cores by the claims of all local ranks. records: (count), by local rank. */
static sluice_status divide(const sli_topology *topology, const record *records, uint32_t count,
                            uint32_t local_rank, sli_rank_part *part_out)
{
    sli_rank_claim *claims = sli_calloc(count, sizeof(*claims));
    sli_rank_part *parts = sli_calloc(count, sizeof(*parts));
    sluice_status st = SLUICE_OK;

    if (claims == NULL || parts == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "division of cores among %u ranks", count);
    } else {
        for (uint32_t r = 0; r < count; r++) {
            claims[r] = records[r].claim;
        }
        st = sli_divide_cores(topology->all_cores, topology->all_core_count, claims, count, parts);
    }
    if (st == SLUICE_OK) {
        *part_out = parts[local_rank];
    }
    sli_free(claims);
    sli_free(parts);
    return st;
}

/* Stores the processes of the ranks in `known`, whose lock is held. Without memory there are none.
 */
static void keep_peers(const record *records, uint32_t count)
{
    sli_rank_peer *peers = sli_calloc(count, sizeof(*peers));

    sli_free(known.peers);
    known.peers = peers;
    known.peer_count = peers != NULL ? count : 0;
    for (uint32_t r = 0; r < known.peer_count; r++) {
        peers[r] = records[r].peer;
    }
}

/* Exchanges the records, opens the board of the ranks, and divides the cores. */
static sluice_status exchange(const sli_topology *topology, const sluice_ranks *ranks,
                              const record *own, int64_t timeout_ms, sli_rank_part *part_out)
{
    char key[SLI_JOB_KEY_SIZE];
    record *records;
    int received = -1;
    int board;
    sluice_status st;

    if (timeout_ms == 0) {
        return sli_fail(SLUICE_E_INVALID, "SLUICE_EXCHANGE_MS is 0");
    }
    records = sli_calloc(ranks->local_world, sizeof(*records));
    if (records == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "records of %u ranks", ranks->local_world);
    }
    board = ranks->local_rank == 0 ? sli_rank_board_make(ranks->local_world) : -1;
    st = sli_rank_exchange_descriptor(sli_rank_job_key(ranks, key), ranks->local_rank,
                                      ranks->local_world, timeout_ms, own, sizeof(*own), records,
                                      board, &received);
    board = ranks->local_rank == 0 ? board : received;
    if (st == SLUICE_OK) {
        (void)sli_rank_board_open(board, ranks->local_rank, ranks->local_world);
        keep_peers(records, ranks->local_world);
        st = check_machines(records, ranks->local_world);
    }
    if (st == SLUICE_OK) {
        st = divide(topology, records, ranks->local_world, ranks->local_rank, part_out);
    }
    if (board >= 0) {
        close(board);
    }
    sli_free(records);
    return st;
}

static bool is_known(const sluice_ranks *ranks, const sli_cores_setting *setting)
{
    return known.tried && known.fork_generation == sli_fork_generation() &&
           known.rank == ranks->rank && known.world == ranks->world &&
           known.local_rank == ranks->local_rank && known.local_world == ranks->local_world &&
           memcmp(&known.setting, setting, sizeof(*setting)) == 0;
}

/* Makes the exchange of this process, and stores the result in `known`, whose lock is held. */
static void find_part(const sli_topology *topology, const sluice_ranks *ranks, int32_t device_node,
                      const sli_cores_setting *setting, int64_t timeout_ms)
{
    record own = {.machine = hash_of(topology)};
    sluice_status st;

    sli_rank_claim_make(topology, device_node, &own.claim);
    sli_rank_peer_self(ranks->rank, &own.peer);
    own.claim.takes_all = setting->kind == SLI_CORES_ALL;
    st = exchange(topology, ranks, &own, timeout_ms, &known.part);
    known.tried = true;
    known.divided = st == SLUICE_OK && setting->kind != SLI_CORES_ALL;
    known.fork_generation = sli_fork_generation();
    known.rank = ranks->rank;
    known.world = ranks->world;
    known.local_rank = ranks->local_rank;
    known.local_world = ranks->local_world;
    known.setting = *setting;
    if (st != SLUICE_OK && timeout_ms > 0) {
        sli_log(SLUICE_LOG_WARN,
                "the cores of this machine are not divided among its %u ranks: %s. No worker is "
                "pinned to a single core. Start the ranks within %g s of each other, in one "
                "network namespace, or bind each rank to cores of its own and set "
                "SLUICE_EXCHANGE_MS=0",
                ranks->local_world, sluice_last_error(), (double)timeout_ms / 1000);
    }
}

sluice_status sli_rank_cores(const sli_topology *topology, const sluice_ranks *ranks,
                             int32_t device_node, const sli_cores_setting *setting,
                             sli_rank_part *part_out, bool *divided_out)
{
    int64_t timeout_ms = 0;
    sluice_status st = SLUICE_OK;

    *divided_out = false;
    if (ranks->local_world > 1) {
        st = sli_rank_exchange_timeout(&timeout_ms);
    }
    if (st != SLUICE_OK || ranks->local_world <= 1) {
        return st;
    }
    pthread_mutex_lock(&known.lock);
    if (!known.tried || known.fork_generation != sli_fork_generation()) {
        find_part(topology, ranks, device_node, setting, timeout_ms);
    }
    if (is_known(ranks, setting) && known.divided) {
        *part_out = known.part;
        *divided_out = true;
    }
    pthread_mutex_unlock(&known.lock);
    return SLUICE_OK;
}

bool sli_rank_peer_get(uint32_t index, sli_rank_peer *peer_out)
{
    bool there;

    pthread_mutex_lock(&known.lock);
    there = index < known.peer_count && known.fork_generation == sli_fork_generation();
    if (there) {
        *peer_out = known.peers[index];
    }
    pthread_mutex_unlock(&known.lock);
    return there;
}

void sli_rank_cores_forget(void)
{
    pthread_mutex_lock(&known.lock);
    known.tried = false;
    sli_free(known.peers);
    known.peers = NULL;
    known.peer_count = 0;
    sli_rank_board_close();
    pthread_mutex_unlock(&known.lock);
}
