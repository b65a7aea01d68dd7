/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* TCP_KEEPIDLE */
#include "tcp_group.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { MAGIC = 0x534C5447, OPEN_SECONDS = 60, GREETING_SECONDS = 5, DEFAULT_PORT = 29500 };

/* Which of a rank's two connections. */
enum { COLLECTIVES, WATCH, CONNECTIONS };

/* What a rank sends first on each connection. */
typedef struct greeting {
    uint32_t magic, world, rank, connection;
} greeting;

/* What a rank sends on WATCH, as one byte. */
enum { ENDS = 'E', ABORTS = 'A' };

struct tcp_group {
    uint32_t rank;
    uint32_t world;
    int listener;                /* of rank 0 while it opens; -1: none */
    int (*sockets)[CONNECTIONS]; /* (world); of rank 0: to each other rank; else: to rank 0, in [0];
                                    -1: none */
    int own[2];                  /* of rank 0: a pipe in place of WATCH; its thread reads own[0] */
    pthread_t watcher;
    bool is_watched;
    int64_t deadline_ms; /* of opening */
};

static int64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static sluice_status failed(const char *what)
{
    return sluice_fail(SLUICE_E_IO, "%s: %s", what, strerror(errno));
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool send_all(int socket, const void *data, size_t bytes)
{
    const char *at = data;

    while (bytes > 0) {
        const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);

        if (sent > 0) {
            at += sent;
            bytes -= (size_t)sent;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static bool receive_all(int socket, void *data, size_t bytes)
{
    char *at = data;

    while (bytes > 0) {
        const ssize_t got = recv(socket, at, bytes, 0);

        if (got > 0) {
            at += got;
            bytes -= (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* Small messages are sent immediately; an error if the other machine is gone for 25 s. */
static void set_options(int socket)
{
    const int on = 1;
    const int idle = 10;
    const int interval = 5;
    const int count = 3;

    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/* ---- connecting ------------------------------------------------------------------------------ */

static sluice_status too_late(const tcp_group *g, const char *what)
{
    return sluice_fail(SLUICE_E_IO,
                       "rank %u of %u: %s within %d s; set MASTER_ADDR and "
                       "MASTER_PORT to the same for all ranks",
                       g->rank, g->world, what, OPEN_SECONDS);
}

/* Finds the address of rank 0. *is_local_out: MASTER_ADDR is not set. */
static sluice_status find_address(struct addrinfo **address_out, bool *is_local_out)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const char *host = getenv("MASTER_ADDR");
    const char *port = getenv("MASTER_PORT");
    char *end = NULL;
    unsigned long number = DEFAULT_PORT;
    char service[16];
    int error;

    if (port != NULL && port[0] != '\0') {
        number = strtoul(port, &end, 10);
        if (*end != '\0' || number < 1 || number > 65534) {
            return sluice_fail(SLUICE_E_INVALID,
                               "MASTER_PORT is \"%s\", and must be from 1 to 65534", port);
        }
    }
    *is_local_out = host == NULL || host[0] == '\0';
    host = *is_local_out ? "127.0.0.1" : host;
    snprintf(service, sizeof(service), "%lu", number + 1);
    error = getaddrinfo(host, service, &hints, address_out);
    return error == 0 ? SLUICE_OK
                      : sluice_fail(SLUICE_E_IO, "MASTER_ADDR %s: %s", host, gai_strerror(error));
}

/* Listens at the port of the address, on all interfaces unless it is local. */
static sluice_status start_listening(tcp_group *g, const struct addrinfo *address, bool is_local)
{
    struct sockaddr_storage place = {0};
    const int on = 1;

    memcpy(&place, address->ai_addr, address->ai_addrlen);
    if (!is_local && place.ss_family == AF_INET) {
        ((struct sockaddr_in *)&place)->sin_addr.s_addr = htonl(INADDR_ANY);
    } else if (!is_local && place.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)&place)->sin6_addr = in6addr_any;
    }
    g->listener = socket(address->ai_family, SOCK_STREAM, 0);
    if (g->listener < 0) {
        return failed("socket");
    }
    (void)setsockopt(g->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(g->listener, (const struct sockaddr *)&place, address->ai_addrlen) != 0) {
        return errno == EADDRINUSE
                   ? sluice_fail(SLUICE_E_IO,
                                 "rank 0: the port after MASTER_PORT is in use, maybe by "
                                 "another job; set MASTER_PORT to another number")
                   : failed("bind");
    }
    return listen(g->listener, (int)(2 * g->world)) == 0 ? SLUICE_OK : failed("listen");
}

/* Takes one connection. A process that is not a rank of this group is ignored. */
static sluice_status take_connection(tcp_group *g, uint32_t *count)
{
    const struct timeval patience = {.tv_sec = GREETING_SECONDS};
    const struct timeval forever = {0};
    const int socket = accept(g->listener, NULL, NULL);
    greeting hello = {0};

    if (socket < 0) {
        return errno == EINTR || errno == ECONNABORTED ? SLUICE_OK : failed("accept");
    }
    (void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (!receive_all(socket, &hello, sizeof(hello)) || hello.magic != MAGIC ||
        hello.connection >= CONNECTIONS) {
        close(socket);
        return SLUICE_OK;
    }
    if (hello.world != g->world || hello.rank == 0 || hello.rank >= g->world ||
        g->sockets[hello.rank][hello.connection] >= 0) {
        close(socket);
        return sluice_fail(SLUICE_E_INVALID,
                           "a second process is rank %u, or of another job: it is "
                           "rank %u of %u, this is rank 0 of %u",
                           hello.rank, hello.rank, hello.world, g->world);
    }
    (void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
    set_options(socket);
    g->sockets[hello.rank][hello.connection] = socket;
    ++*count;
    return SLUICE_OK;
}

static sluice_status accept_ranks(tcp_group *g)
{
    sluice_status st = SLUICE_OK;
    uint32_t count = 0;

    while (st == SLUICE_OK && count < CONNECTIONS * (g->world - 1)) {
        struct pollfd one = {.fd = g->listener, .events = POLLIN};
        const int64_t left = g->deadline_ms - now_ms();
        const int ready = left > 0 ? poll(&one, 1, (int)left) : 0;

        if (ready == 0) {
            return too_late(g, "not all other ranks have connected to rank 0");
        }
        if (ready > 0) {
            st = take_connection(g, &count);
        }
    }
    return st;
}

/* Connects to rank 0, which may not listen yet. */
static sluice_status connect_once(tcp_group *g, const struct addrinfo *address, uint32_t connection)
{
    const greeting hello = {MAGIC, g->world, g->rank, connection};
    const struct timespec pause = {.tv_nsec = 50000000};

    for (;;) {
        for (const struct addrinfo *a = address; a != NULL; a = a->ai_next) {
            const int socket_of_rank = socket(a->ai_family, SOCK_STREAM, 0);

            if (socket_of_rank >= 0 && connect(socket_of_rank, a->ai_addr, a->ai_addrlen) == 0) {
                set_options(socket_of_rank);
                g->sockets[0][connection] = socket_of_rank;
                return send_all(socket_of_rank, &hello, sizeof(hello)) ? SLUICE_OK
                                                                       : failed("rank 0");
            }
            if (socket_of_rank >= 0) {
                close(socket_of_rank);
            }
        }
        if (now_ms() >= g->deadline_ms) {
            return too_late(g, "rank 0 does not listen");
        }
        (void)nanosleep(&pause, NULL);
    }
}

static sluice_status connect_ranks(tcp_group *g)
{
    struct addrinfo *address = NULL;
    bool is_local = true;
    sluice_status st = find_address(&address, &is_local);

    if (st != SLUICE_OK) {
        return st;
    }
    if (g->rank == 0) {
        st = start_listening(g, address, is_local);
        st = st == SLUICE_OK ? accept_ranks(g) : st;
    } else {
        for (uint32_t i = 0; st == SLUICE_OK && i < CONNECTIONS; i++) {
            st = connect_once(g, address, i);
        }
    }
    freeaddrinfo(address);
    return st;
}

/* ---- the end of other ranks ------------------------------------------------------------------ */

static void end_process(void)
{
    fflush(NULL);
    _exit(EXIT_FAILURE);
}

/* Tells all ranks that are connected to rank 0. */
static void tell_all(const tcp_group *g, char what)
{
    for (uint32_t r = 1; r < g->world; r++) {
        (void)send_all(g->sockets[r][WATCH], &what, 1);
    }
}

/* The thread of a rank other than 0. */
static void *watch_rank_0(void *arg)
{
    const tcp_group *g = arg;
    char what = 0;

    if (!receive_all(g->sockets[0][WATCH], &what, 1)) {
        fprintf(stderr, "rank %u: rank 0 has ended before the others\n", g->rank);
    }
    if (what != ENDS) {
        end_process();
    }
    return NULL;
}

/* Reads what a rank sends on WATCH; ends the process unless the rank has closed the group. */
static void hear_rank(const tcp_group *g, uint32_t r, int from)
{
    char what = 0;
    ssize_t got;

    do {
        got = read(from, &what, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 1 && what == ENDS) {
        return;
    }
    if (got != 1) {
        fprintf(stderr, "rank 0: rank %u has ended before the others\n", r);
    }
    tell_all(g, ABORTS);
    end_process();
}

/* The thread of rank 0. */
static void *watch_others(void *arg)
{
    const tcp_group *g = arg;
    struct pollfd *all = calloc(g->world, sizeof(*all));
    uint32_t open = g->world;

    for (uint32_t r = 0; all != NULL && r < g->world; r++) {
        all[r] = (struct pollfd){.fd = r == 0 ? g->own[0] : g->sockets[r][WATCH], .events = POLLIN};
    }
    while (all != NULL && open > 0) {
        if (poll(all, g->world, -1) <= 0) {
            continue;
        }
        for (uint32_t r = 0; r < g->world; r++) {
            if (all[r].revents != 0) {
                hear_rank(g, r, all[r].fd);
                all[r].fd = -1; /* poll() ignores it from now on */
                open--;
            }
        }
    }
    free(all);
    tell_all(g, ENDS);
    return NULL;
}

static sluice_status start_watching(tcp_group *g)
{
    const int error =
        pthread_create(&g->watcher, NULL, g->rank == 0 ? watch_others : watch_rank_0, g);

    g->is_watched = error == 0;
    return g->is_watched ? SLUICE_OK
                         : sluice_fail(SLUICE_E_NO_MEMORY, "a thread: %s", strerror(error));
}

void tcp_group_abort(tcp_group *group)
{
    const char what = ABORTS;

    if (group->rank == 0) {
        tell_all(group, what);
    } else {
        (void)send_all(group->sockets[0][WATCH], &what, 1);
    }
    end_process();
}

/* ---- the group ------------------------------------------------------------------------------- */

static void free_group(tcp_group *g)
{
    for (uint32_t r = 0; r < g->world; r++) {
        for (uint32_t i = 0; i < CONNECTIONS; i++) {
            if (g->sockets[r][i] >= 0) {
                close(g->sockets[r][i]);
            }
        }
    }
    for (int i = 0; i < 2; i++) {
        if (g->own[i] >= 0) {
            close(g->own[i]);
        }
    }
    if (g->listener >= 0) {
        close(g->listener);
    }
    free(g->sockets);
    free(g);
}

static tcp_group *make_group(uint32_t rank, uint32_t world)
{
    tcp_group *g = calloc(1, sizeof(*g));

    if (g == NULL) {
        return NULL;
    }
    *g = (tcp_group){.rank = rank,
                     .world = world,
                     .listener = -1,
                     .own = {-1, -1},
                     .deadline_ms = now_ms() + OPEN_SECONDS * 1000};
    g->sockets = malloc(world * sizeof(g->sockets[0]));
    if (g->sockets == NULL) {
        free(g);
        return NULL;
    }
    memset(g->sockets, -1, world * sizeof(g->sockets[0]));
    return g;
}

sluice_status tcp_group_open(uint32_t rank, uint32_t world, tcp_group **group_out)
{
    tcp_group *g = make_group(rank, world);
    sluice_status st = SLUICE_OK;

    if (g == NULL) {
        return sluice_fail(SLUICE_E_NO_MEMORY, "a group of %u ranks", world);
    }
    if (world > 1) {
        st = connect_ranks(g);
        if (st == SLUICE_OK && rank == 0 && pipe(g->own) != 0) {
            st = failed("pipe");
        }
        if (st == SLUICE_OK) {
            st = start_watching(g);
        }
    }
    if (st != SLUICE_OK) {
        free_group(g);
        return st;
    }
    if (g->listener >= 0) {
        close(g->listener);
        g->listener = -1;
    }
    *group_out = g;
    return SLUICE_OK;
}

void tcp_group_close(tcp_group *group)
{
    const char what = ENDS;

    if (group == NULL) {
        return;
    }
    if (group->is_watched) {
        if (group->rank == 0) {
            (void)!write(group->own[1], &what, 1);
        } else {
            (void)send_all(group->sockets[0][WATCH], &what, 1);
        }
        pthread_join(group->watcher, NULL);
    }
    free_group(group);
}

/* ---- collectives ----------------------------------------------------------------------------- */

static sluice_status lost(uint32_t rank)
{
    return sluice_fail(SLUICE_E_IO, "the connection to rank %u has ended", rank);
}

sluice_status tcp_group_broadcast(tcp_group *group, void *data, size_t bytes)
{
    if (group->rank != 0) {
        return receive_all(group->sockets[0][COLLECTIVES], data, bytes) ? SLUICE_OK : lost(0);
    }
    for (uint32_t r = 1; r < group->world; r++) {
        if (!send_all(group->sockets[r][COLLECTIVES], data, bytes)) {
            return lost(r);
        }
    }
    return SLUICE_OK;
}

sluice_status tcp_group_max(tcp_group *group, int64_t value, int64_t *most_out)
{
    int64_t most = value;

    if (group->rank != 0 && !send_all(group->sockets[0][COLLECTIVES], &value, sizeof(value))) {
        return lost(0);
    }
    for (uint32_t r = 1; group->rank == 0 && r < group->world; r++) {
        int64_t theirs;

        if (!receive_all(group->sockets[r][COLLECTIVES], &theirs, sizeof(theirs))) {
            return lost(r);
        }
        most = theirs > most ? theirs : most;
    }
    *most_out = most;
    return tcp_group_broadcast(group, most_out, sizeof(*most_out));
}
