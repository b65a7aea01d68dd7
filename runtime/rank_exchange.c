/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two-phase commit. Local rank 0 listens, the others connect, and each sends a greeting and its
 * record. Once rank 0 has all records, it sends the table of them to each rank, waits for ANSWER
 * from each rank, and then sends GO to each. If anything fails before GO, rank 0 closes the
 * sockets, so that no rank uses the table.
 */
#define _GNU_SOURCE /* struct ucred, accept4() */
#include "rank_exchange_int.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "status_int.h"

enum { MAGIC = 0x534C5831, ANSWER = 'A', GO = 'G' };

/* What a rank sends before its record. */
typedef struct greeting {
    uint32_t magic;
    uint32_t local_rank;
    uint32_t local_world;
    uint32_t bytes;
    uint64_t key;
} greeting;

typedef struct exchange {
    uint64_t key;
    uint32_t local_rank;
    uint32_t local_world;
    size_t bytes;
    int64_t deadline_ns;
    int listener;   /* of local rank 0; -1: none */
    int *sockets;   /* (local_world) of local rank 0, by rank; -1: none */
    char *records;  /* (local_world, bytes) */
    uint32_t count; /* number of ranks whose records are there */
    int given;      /* the file descriptor that local rank 0 sends; -1: none */
    int taken;      /* the file descriptor that another rank received; -1: none */
} exchange;

/* ---- names ----------------------------------------------------------------------------------- */

/* Without a launcher's job id, jobs of a user are told apart by their sessions: each terminal, ssh
 * and batch job has its own. */
char *sli_rank_job_key(const sluice_ranks *ranks, char text[SLI_JOB_KEY_SIZE])
{
    static const char *const names[] = {"SLUICE_JOB",
                                        "TORCHELASTIC_RUN_ID",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "OMPI_MCA_ess_base_jobid",
                                        "PMIX_NAMESPACE",
                                        "PMI_JOBID",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",
                                        "FLUX_JOB_ID",
                                        "MS_SCHED_HOST",
                                        "MS_SCHED_PORT"};
    const char *restarts = getenv("TORCHELASTIC_RESTART_COUNT");
    bool has_id = false;
    size_t used =
        (size_t)snprintf(text, SLI_JOB_KEY_SIZE, "%lu/%u", (unsigned long)geteuid(), ranks->world);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && used < SLI_JOB_KEY_SIZE; i++) {
        const char *value = getenv(names[i]);

        used += (size_t)snprintf(text + used, SLI_JOB_KEY_SIZE - used, "/%s",
                                 value != NULL ? value : "");
        has_id = has_id || (value != NULL && value[0] != '\0');
    }
    if (used < SLI_JOB_KEY_SIZE) {
        snprintf(text + used, SLI_JOB_KEY_SIZE - used, "/%s/%ld", restarts != NULL ? restarts : "",
                 has_id ? 0L : (long)getsid(0));
    }
    return text;
}

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    }
    return hash;
}

/* The abstract address of the job; returns its length. */
static socklen_t make_address(const exchange *x, struct sockaddr_un *address)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
                                        "sluice/%lu/%016llx", (unsigned long)geteuid(),
                                        (unsigned long long)x->key));
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int64_t ms_left(const exchange *x)
{
    const int64_t left = x->deadline_ns - sli_now_ns();

    return left <= 0 ? 0 : (left + 999999) / 1000000;
}

static sluice_status too_late(const exchange *x)
{
    return sli_fail(SLUICE_E_IO, "only %u of %u ranks of this machine connected in time", x->count,
                    x->local_world);
}

static sluice_status failed(const char *what)
{
    char buffer[128] = "";
    const char *cause = strerror_r(errno, buffer, sizeof(buffer));

    return sli_fail(SLUICE_E_IO, "%s: %s", what, cause);
}

static sluice_status wait_for(const exchange *x, int socket, short events)
{
    for (;;) {
        struct pollfd one = {.fd = socket, .events = events};
        const int64_t left = ms_left(x);
        const int ready = poll(&one, 1, left > 60000 ? 60000 : (int)left);

        if (ready > 0) {
            return SLUICE_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return failed("poll");
        }
        if (ms_left(x) == 0) {
            return too_late(x);
        }
    }
}

/* Sends or receives all bytes before the deadline. */
static sluice_status transfer(const exchange *x, int socket, void *data, size_t bytes, bool send_it)
{
    char *at = data;

    while (bytes > 0) {
        const ssize_t done = send_it ? send(socket, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                                     : recv(socket, at, bytes, MSG_DONTWAIT);

        if (done > 0) {
            at += done;
            bytes -= (size_t)done;
        } else if (done == 0) {
            return sli_fail(SLUICE_E_IO,
                            "another rank closed the connection: it timed out or ended");
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            const sluice_status st = wait_for(x, socket, send_it ? POLLOUT : POLLIN);

            if (st != SLUICE_OK) {
                return st;
            }
        } else if (errno != EINTR) {
            return failed("the connection to another rank");
        }
    }
    return SLUICE_OK;
}

/* A message of one byte, and room for one descriptor. */
typedef struct go_message {
    char go;
    struct iovec part;
    struct msghdr header;
    _Alignas(size_t) char control[CMSG_SPACE(sizeof(int))];
} go_message;

static void go_message_init(go_message *m)
{
    memset(m, 0, sizeof(*m));
    m->go = GO;
    m->part = (struct iovec){&m->go, 1};
    m->header.msg_iov = &m->part;
    m->header.msg_iovlen = 1;
}

/* Sends GO, with the file descriptor if there is one. One byte always fits into the socket's
 * buffer, so it fails only if the other rank has ended. */
static void send_go(const exchange *x, int socket)
{
    go_message m;
    struct cmsghdr *control;

    go_message_init(&m);
    if (x->given >= 0) {
        m.header.msg_control = m.control;
        m.header.msg_controllen = sizeof(m.control);
        control = CMSG_FIRSTHDR(&m.header);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(control), &x->given, sizeof(int));
    }
    while (sendmsg(socket, &m.header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR) {
    }
}

/* Takes the descriptor out of a received message, if there is one. */
static sluice_status take_descriptor(exchange *x, go_message *m)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(&m->header);

    if (control != NULL && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
        control->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(&x->taken, CMSG_DATA(control), sizeof(int));
    }
    return (m->header.msg_flags & MSG_CTRUNC) == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_IO, "no free file descriptor for the shared memory of local "
                                       "rank 0; raise the limit of open files (ulimit -n)");
}

static sluice_status receive_go(exchange *x, int socket)
{
    for (;;) {
        go_message m;
        ssize_t got;

        go_message_init(&m);
        m.header.msg_control = m.control;
        m.header.msg_controllen = sizeof(m.control);
        got = recvmsg(socket, &m.header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got == 1) {
            const sluice_status st = take_descriptor(x, &m);

            return st == SLUICE_OK && m.go != GO
                       ? sli_fail(SLUICE_E_IO, "local rank 0 has sent an unexpected reply")
                       : st;
        }
        if (got == 0) {
            return sli_fail(SLUICE_E_IO,
                            "another rank closed the connection: it timed out or ended");
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            const sluice_status st = wait_for(x, socket, POLLIN);

            if (st != SLUICE_OK) {
                return st;
            }
        } else if (errno != EINTR) {
            return failed("the connection to another rank");
        }
    }
}

/* True if the process at the other end runs as this process's effective user. */
static bool is_ours(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

/* ---- local rank 0 ---------------------------------------------------------------------------- */

static sluice_status start_listening(exchange *x)
{
    struct sockaddr_un address;
    const socklen_t length = make_address(x, &address);

    x->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (x->listener < 0) {
        return failed("socket");
    }
    if (bind(x->listener, (const struct sockaddr *)&address, length) != 0) {
        return errno == EADDRINUSE
                   ? sli_fail(SLUICE_E_IO, "another job of this user has the same launcher "
                                           "variables (run id, MASTER_ADDR, MASTER_PORT)")
                   : failed("bind");
    }
    return listen(x->listener, (int)x->local_world) == 0 ? SLUICE_OK : failed("listen");
}

/* Receives the greeting and record of a connected process. *taken_out: it is a rank of this job,
 * and x->sockets has the socket; false: the caller closes the socket. */
static sluice_status receive_record(exchange *x, int socket, bool *taken_out)
{
    greeting hello = {0};
    sluice_status st = transfer(x, socket, &hello, sizeof(hello), false);

    *taken_out = false;
    if (st != SLUICE_OK && ms_left(x) == 0) {
        return st;
    }
    if (st != SLUICE_OK || hello.magic != MAGIC || hello.key != x->key) {
        return SLUICE_OK; /* not a rank of this job */
    }
    if (hello.local_world != x->local_world || hello.bytes != x->bytes || hello.local_rank == 0 ||
        hello.local_rank >= x->local_world || x->sockets[hello.local_rank] >= 0) {
        return sli_fail(SLUICE_E_IO,
                        "a process says that it is local rank %u of %u, which does not fit: "
                        "another job of this user has the same launcher variables, or another "
                        "version of the library",
                        hello.local_rank, hello.local_world);
    }
    st = transfer(x, socket, x->records + hello.local_rank * x->bytes, x->bytes, false);
    if (st == SLUICE_OK) {
        x->sockets[hello.local_rank] = socket;
        x->count++;
        *taken_out = true;
    }
    return st;
}

static sluice_status gather_records(exchange *x)
{
    while (x->count < x->local_world) {
        sluice_status st = wait_for(x, x->listener, POLLIN);
        bool taken = false;
        int socket;

        if (st != SLUICE_OK) {
            return st;
        }
        socket = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC);
        if (socket < 0) {
            if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
                continue;
            }
            return failed("accept");
        }
        st = is_ours(socket) ? receive_record(x, socket, &taken) : SLUICE_OK;
        if (!taken) {
            close(socket);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    return SLUICE_OK;
}

static sluice_status serve(exchange *x)
{
    sluice_status st = start_listening(x);

    if (st == SLUICE_OK) {
        st = gather_records(x);
    }
    for (uint32_t r = 1; st == SLUICE_OK && r < x->local_world; r++) {
        st = transfer(x, x->sockets[r], x->records, x->local_world * x->bytes, true);
    }
    for (uint32_t r = 1; st == SLUICE_OK && r < x->local_world; r++) {
        char answer = 0;

        st = transfer(x, x->sockets[r], &answer, 1, false);
        if (st == SLUICE_OK && answer != ANSWER) {
            st = sli_fail(SLUICE_E_IO, "local rank %u has sent an unexpected reply", r);
        }
    }
    for (uint32_t r = 1; st == SLUICE_OK && r < x->local_world; r++) {
        send_go(x, x->sockets[r]);
    }
    return st;
}

/* ---- the other ranks ------------------------------------------------------------------------- */

/* Connects to local rank 0; retries until it listens, or the deadline. */
static sluice_status connect_to_server(exchange *x)
{
    struct sockaddr_un address;
    const socklen_t length = make_address(x, &address);
    long pause_ns = 500000;

    for (;;) {
        struct timespec pause = {.tv_nsec = pause_ns};
        const int socket_of_rank = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (socket_of_rank < 0) {
            return failed("socket");
        }
        if (connect(socket_of_rank, (const struct sockaddr *)&address, length) == 0) {
            x->sockets[0] = socket_of_rank;
            return is_ours(socket_of_rank)
                       ? SLUICE_OK
                       : sli_fail(SLUICE_E_IO, "another user listens at the address of this job");
        }
        close(socket_of_rank);
        if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) {
            return failed("connect");
        }
        if (ms_left(x) == 0) {
            return too_late(x);
        }
        (void)nanosleep(&pause, NULL);
        pause_ns = pause_ns < 8000000 ? 2 * pause_ns : pause_ns;
    }
}

static sluice_status take_part(exchange *x, int64_t timeout_ms)
{
    greeting hello = {MAGIC, x->local_rank, x->local_world, (uint32_t)x->bytes, x->key};
    char *own = x->records + x->local_rank * x->bytes;
    char answer = ANSWER;
    sluice_status st = connect_to_server(x);

    if (st == SLUICE_OK) {
        st = transfer(x, x->sockets[0], &hello, sizeof(hello), true);
    }
    if (st == SLUICE_OK) {
        st = transfer(x, x->sockets[0], own, x->bytes, true);
    }
    if (st == SLUICE_OK) {
        st = transfer(x, x->sockets[0], x->records, x->local_world * x->bytes, false);
    }
    if (st == SLUICE_OK) {
        st = transfer(x, x->sockets[0], &answer, 1, true);
    }
    x->deadline_ns += timeout_ms * 1000000; /* local rank 0 decides by its own deadline */
    return st == SLUICE_OK ? receive_go(x, x->sockets[0]) : st;
}

static void close_sockets(exchange *x)
{
    for (uint32_t r = 0; r < x->local_world && x->sockets != NULL; r++) {
        if (x->sockets[r] >= 0) {
            close(x->sockets[r]);
        }
    }
    if (x->listener >= 0) {
        close(x->listener);
    }
}

sluice_status sli_rank_exchange_descriptor(const char *key, uint32_t local_rank,
                                           uint32_t local_world, int64_t timeout_ms,
                                           const void *own, size_t bytes, void *all_out, int own_fd,
                                           int *fd_out)
{
    exchange x = {.key = hash_of(key),
                  .local_rank = local_rank,
                  .local_world = local_world,
                  .bytes = bytes,
                  .deadline_ns = sli_now_ns() + timeout_ms * 1000000,
                  .listener = -1,
                  .count = 1,
                  .given = local_rank == 0 ? own_fd : -1,
                  .taken = -1};
    sluice_status st;

    *fd_out = -1;
    if (local_world > SLI_EXCHANGE_RANKS || local_rank >= local_world || bytes == 0 ||
        bytes > SLI_EXCHANGE_BYTES) {
        return sli_fail(SLUICE_E_INVALID,
                        "an exchange of rank %u of %u: there must be at most %d ranks", local_rank,
                        local_world, SLI_EXCHANGE_RANKS);
    }
    x.sockets = sli_calloc(local_world, sizeof(*x.sockets));
    x.records = sli_calloc(local_world, bytes);
    if (x.sockets == NULL || x.records == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "an exchange of %u ranks", local_world);
        sli_free(x.sockets);
        sli_free(x.records);
        return st;
    }
    memset(x.sockets, -1, local_world * sizeof(*x.sockets));
    memcpy(x.records + local_rank * bytes, own, bytes);
    st = local_rank == 0 ? serve(&x) : take_part(&x, timeout_ms);
    close_sockets(&x);
    if (st == SLUICE_OK) {
        memcpy(all_out, x.records, local_world * bytes);
        *fd_out = x.taken;
    } else if (x.taken >= 0) {
        close(x.taken);
    }
    sli_free(x.sockets);
    sli_free(x.records);
    return st;
}

sluice_status sli_rank_exchange(const char *key, uint32_t local_rank, uint32_t local_world,
                                int64_t timeout_ms, const void *own, size_t bytes, void *all_out)
{
    int none = -1;
    const sluice_status st = sli_rank_exchange_descriptor(key, local_rank, local_world, timeout_ms,
                                                          own, bytes, all_out, -1, &none);

    if (none >= 0) { /* a process that breaks the protocol has sent a file descriptor */
        close(none);
    }
    return st;
}
