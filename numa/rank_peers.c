/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_peers_int.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The inode of this process's PID namespace; 0: unknown. */
static uint64_t own_namespace(void)
{
    struct stat facts;

    return stat("/proc/self/ns/pid", &facts) == 0 ? (uint64_t)facts.st_ino : 0;
}

/* Reads the state and the start time of a process. The name before them may contain spaces and
 * parentheses. Returns false if the process does not exist. */
static bool read_stat(int32_t pid, char *state_out, uint64_t *start_time_out)
{
    char path[40];
    char line[1024];
    char *after;
    unsigned long long start = 0;
    FILE *file;
    size_t length;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    length = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[length] = '\0';
    after = strrchr(line, ')');
    if (after == NULL || sscanf(after,
                                ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                "%*s %*s %*s %llu",
                                state_out, &start) != 2) {
        return false;
    }
    *start_time_out = start;
    return true;
}

void sli_rank_peer_self(uint32_t rank, sli_rank_peer *self_out)
{
    char state;

    memset(self_out, 0, sizeof(*self_out));
    self_out->rank = rank;
    self_out->pid = (int32_t)getpid();
    if (read_stat(self_out->pid, &state, &self_out->start_time)) {
        self_out->pid_namespace = own_namespace();
    }
}

sli_peer_state sli_rank_peer_state(const sli_rank_peer *peer)
{
    uint64_t start_time = 0;
    char state = '\0';

    if (peer->pid_namespace == 0 || peer->pid_namespace != own_namespace()) {
        return SLI_PEER_UNKNOWN;
    }
    if (!read_stat(peer->pid, &state, &start_time) || start_time != peer->start_time ||
        state == 'Z' || state == 'X') {
        return SLI_PEER_GONE;
    }
    return state == 'T' || state == 't' ? SLI_PEER_STOPPED : SLI_PEER_RUNS;
}
