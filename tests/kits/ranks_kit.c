/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks_kit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "testing.h"

typedef struct message {
    int64_t value;
    int64_t gone; /* from rank 0: who is; -1: nobody */
} message;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- in a child ------------------------------------------------------------------------------ */

/* The peer may be gone; what it sent before can still be received. */
static void put(int fd, const message *m)
{
    while (send(fd, m, sizeof(*m), MSG_NOSIGNAL) < 0 && errno == EINTR) {
    }
}

/* One message before the deadline; false when none comes any more. */
static bool get(int fd, int64_t deadline_ms, message *m_out)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    for (;;) {
        const int64_t left = deadline_ms - now_ms();
        const int ready = poll(&wanted, 1, left > 0 ? (int)left : 0);
        ssize_t got;

        if (ready == 0) {
            return false;
        }
        if (ready < 0) {
            continue;
        }
        got = recv(fd, m_out, sizeof(*m_out), MSG_DONTWAIT);
        /* Who leaves without having read all resets the connection, which is said once, before
         * what it sent. */
        if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNRESET)) {
            continue;
        }
        return got == (ssize_t)sizeof(*m_out);
    }
}

static sluice_status agree_as_hub(ranks_member *me, int64_t value, int64_t *most_out)
{
    const int64_t deadline = now_ms() + me->timeout_ms;
    message all = {value, -1};

    for (uint32_t rank = 1; rank < me->world && all.gone < 0; rank++) {
        message m;

        if (!get(me->sockets[rank], deadline, &m)) {
            all.gone = rank;
        } else if (m.value > all.value) {
            all.value = m.value;
        }
    }
    for (uint32_t rank = 1; rank < me->world; rank++) {
        put(me->sockets[rank], &all);
    }
    me->gone = all.gone;
    *most_out = all.value;
    return SLUICE_OK;
}

static sluice_status agree_by_hub(ranks_member *me, int64_t value, int64_t *most_out)
{
    message m = {value, -1};

    put(me->sockets[0], &m);
    if (!get(me->sockets[0], now_ms() + 2 * me->timeout_ms, &m)) {
        m.gone = 0;
    }
    me->gone = m.gone;
    *most_out = m.value;
    return SLUICE_OK;
}

sluice_status ranks_agree(int64_t value, int64_t *most_out, void *user)
{
    ranks_member *me = user;
    int64_t most = value;

    if (me->gone < 0) {
        (void)(me->rank == 0 ? agree_as_hub : agree_by_hub)(me, value, &most);
    }
    if (me->gone >= 0) {
        return sluice_fail(SLUICE_E_IO, "rank %lld is gone", (long long)me->gone);
    }
    *most_out = most;
    return SLUICE_OK;
}

void ranks_tell(const ranks_member *me)
{
    const unsigned char rank = (unsigned char)me->rank;

    while (write(me->told, &rank, 1) < 0 && errno == EINTR) {
    }
}

static void set_number(const char *name, uint32_t number)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", number);
    setenv(name, text, 1);
}

/* Keeps the sockets of this rank and closes the others': one that stays open anywhere would hide
 * that its owner is gone. pairs[r] joins rank 0, at [0], with rank r. */
static void take_sockets(ranks_member *me, int pairs[RANKS_MOST][2])
{
    for (uint32_t rank = 1; rank < me->world; rank++) {
        for (int side = 0; side < 2; side++) {
            if (side == 0 && me->rank == 0) {
                me->sockets[rank] = pairs[rank][0];
            } else if (side == 1 && me->rank == rank) {
                me->sockets[0] = pairs[rank][1];
            } else {
                close(pairs[rank][side]);
            }
        }
    }
}

static void be_rank(const ranks_kit *ranks, uint32_t rank, int told, int pairs[RANKS_MOST][2],
                    int (*body)(ranks_member *me))
{
    ranks_member me = {.rank = rank,
                       .world = ranks->world,
                       .shared = ranks->shared,
                       .timeout_ms = RANKS_AGREE_MS,
                       .told = told,
                       .gone = -1};

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the runner's time limit ends the children, too */
    close(ranks->told);
    take_sockets(&me, pairs);
    set_number("RANK", rank);
    set_number("WORLD_SIZE", ranks->world);
    set_number("LOCAL_RANK", rank);
    set_number("LOCAL_WORLD_SIZE", ranks->world);
    set_number("SLUICE_EXCHANGE_MS", 0); /* concurrent kits would have the same job key */
    _exit(body(&me)); /* exit() would flush and free the runner's state a second time */
}

/* ---- in the test ----------------------------------------------------------------------------- */

void ranks_start(ranks_kit *ranks, uint32_t world, size_t shared_bytes,
                 int (*body)(ranks_member *me))
{
    int pairs[RANKS_MOST][2];
    int told[2];

    memset(ranks, 0, sizeof(*ranks));
    T_TRUE(world > 0 && world <= RANKS_MOST);
    ranks->world = world;
    ranks->shared_bytes = shared_bytes > 0 ? shared_bytes : 1;
    ranks->shared =
        mmap(NULL, ranks->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    T_TRUE(ranks->shared != MAP_FAILED);
    T_EQ(pipe(told), 0);
    ranks->told = told[0];
    for (uint32_t rank = 1; rank < world; rank++) {
        T_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pairs[rank]), 0);
    }
    fflush(NULL);
    for (uint32_t rank = 0; rank < world; rank++) {
        ranks->pids[rank] = fork();
        if (ranks->pids[rank] == 0) {
            be_rank(ranks, rank, told[1], pairs, body);
        }
        if (ranks->pids[rank] < 0) {
            ranks->pids[rank] = 0;
            T_FAIL_("cannot fork rank %u: %s", rank, strerror(errno));
        }
    }
    close(told[1]);
    for (uint32_t rank = 1; rank < world; rank++) {
        close(pairs[rank][0]);
        close(pairs[rank][1]);
    }
}

/* Takes in one ranks_tell(): 1; 0 when all have ended, -1 when nothing came in time. */
static int hear(ranks_kit *ranks, int64_t deadline_ms)
{
    struct pollfd wanted = {.fd = ranks->told, .events = POLLIN};
    unsigned char rank;

    for (;;) {
        const int64_t left = deadline_ms - now_ms();
        const int ready = poll(&wanted, 1, left > 0 ? (int)left : 0);
        ssize_t got;

        if (ready == 0) {
            return -1;
        }
        got = ready > 0 ? read(ranks->told, &rank, 1) : -1;
        if (got == 1 && rank < ranks->world) {
            ranks->heard[rank] = true;
            return 1;
        }
        if (got == 0) {
            return 0;
        }
    }
}

bool ranks_await(ranks_kit *ranks, uint32_t rank)
{
    const int64_t deadline = now_ms() + RANKS_END_MS;
    int heard = 1;

    while (heard > 0 && !ranks->heard[rank]) {
        heard = hear(ranks, deadline);
    }
    ranks->heard[rank] = false;
    return heard > 0;
}

void ranks_kill(ranks_kit *ranks, uint32_t rank)
{
    if (ranks->pids[rank] > 0) {
        kill(ranks->pids[rank], SIGKILL);
    }
}

bool ranks_join(ranks_kit *ranks)
{
    const int64_t deadline = now_ms() + RANKS_END_MS;
    int heard = 1;

    while (heard > 0) {
        heard = hear(ranks, deadline);
    }
    for (uint32_t rank = 0; rank < ranks->world; rank++) {
        int status = 0;

        if (heard < 0) {
            ranks_kill(ranks, rank);
        }
        if (ranks->pids[rank] > 0) {
            while (waitpid(ranks->pids[rank], &status, 0) < 0 && errno == EINTR) {
            }
            ranks->exits[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
            ranks->pids[rank] = 0;
        }
    }
    return heard == 0;
}

void ranks_end(ranks_kit *ranks)
{
    (void)ranks_join(ranks);
    close(ranks->told);
    munmap(ranks->shared, ranks->shared_bytes);
}
