/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that exchange records, as the ranks of a machine. */
#include "rank_exchange_int.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

enum { MOST = 9, HEALTHY_MS = 60000, SHORT_MS = 300 };

typedef struct exchanged {
    sluice_status status;
    uint64_t records[MOST][40];
    char text[300];
} exchanged;

/* One rank: its record is made of its number. */
static void take_part(const char *key, uint32_t rank, uint32_t world, int64_t timeout_ms,
                      exchanged *result)
{
    uint64_t own[40];

    for (uint32_t i = 0; i < 40; i++) {
        own[i] = 1000 * (uint64_t)rank + i;
    }
    result->status =
        sli_rank_exchange(key, rank, world, timeout_ms, own, sizeof(own), result->records);
    snprintf(result->text, sizeof(result->text), "%s", sluice_last_error());
}

static pid_t start_rank(const char *key, uint32_t rank, uint32_t world, int64_t timeout_ms,
                        exchanged *results)
{
    const pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        take_part(key, rank, world, timeout_ms, &results[rank]);
        _exit(0);
    }
    T_TRUE(pid > 0);
    return pid;
}

static exchanged *make_results(void)
{
    exchanged *results = mmap(NULL, MOST * sizeof(*results), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    T_TRUE(results != MAP_FAILED);
    for (uint32_t r = 0; r < MOST; r++) {
        results[r].status = SLUICE_STOPPED; /* did not end */
    }
    return results;
}

/* A key of this test alone. */
static const char *new_key(void)
{
    static char key[60];
    static int number;

    snprintf(key, sizeof(key), "test/%d/%d", (int)getpid(), number++);
    return key;
}

static void every_rank_gets_every_record(void)
{
    for (uint32_t world = 1; world <= MOST; world += 4) {
        exchanged *results = make_results();
        const char *key = new_key();
        pid_t pids[MOST];

        for (uint32_t r = 0; r < world; r++) { /* local rank 0 comes last */
            pids[r] = start_rank(key, world - 1 - r, world, HEALTHY_MS, results);
        }
        for (uint32_t r = 0; r < world; r++) {
            T_EQ(waitpid(pids[r], NULL, 0), pids[r]);
        }
        for (uint32_t r = 0; r < world; r++) {
            T_EQ(results[r].status, SLUICE_OK);
            for (uint32_t i = 0; i < world * 40; i++) {
                T_EQ(results[r].records[i / 40][i % 40], 1000 * (i / 40) + i % 40);
            }
        }
        munmap(results, MOST * sizeof(*results));
    }
}

static void without_one_rank_none_has_the_records(void)
{
    for (uint32_t missing = 0; missing < 3; missing++) {
        exchanged *results = make_results();
        const char *key = new_key();
        pid_t pids[3];

        for (uint32_t r = 0; r < 3; r++) {
            pids[r] = r != missing ? start_rank(key, r, 3, SHORT_MS, results) : -1;
        }
        for (uint32_t r = 0; r < 3; r++) {
            T_TRUE(r == missing || waitpid(pids[r], NULL, 0) == pids[r]);
        }
        for (uint32_t r = 0; r < 3; r++) {
            T_EQ(results[r].status, r != missing ? SLUICE_E_IO : SLUICE_STOPPED);
            T_EQ(results[r].records[r][1], 0); /* unchanged */
        }
        T_CONTAINS(results[missing == 0 ? 1 : 0].text, "of 3 ranks of this machine");
        munmap(results, MOST * sizeof(*results));
    }
}

/* Each rank writes its number to a file of local rank 0. result->text: the rank's descriptor, -1 if
 * local rank 0 sends none. */
static void share_file(const char *key, uint32_t rank, uint32_t world, bool gives,
                       exchanged *result)
{
    const int own = gives && rank == 0 ? memfd_create("of rank 0", MFD_CLOEXEC) : -1;
    uint64_t record = rank;
    int fd = -2;

    result->status = sli_rank_exchange_descriptor(key, rank, world, HEALTHY_MS, &record,
                                                  sizeof(record), result->records, own, &fd);
    snprintf(result->text, sizeof(result->text), "%d", rank == 0 ? own : fd);
    fd = rank == 0 ? own : fd;
    if (fd >= 0) {
        const char number = (char)rank;

        result->status = pwrite(fd, &number, 1, rank) == 1 ? result->status : SLUICE_E_IO;
        for (int i = 0; rank == 0 && i < HEALTHY_MS && lseek(fd, 0, SEEK_END) < world; i++) {
            usleep(1000); /* until the last rank has written */
        }
        result->records[1][0] = (uint64_t)lseek(fd, 0, SEEK_END);
    }
}

static void local_rank_0_gives_a_descriptor_to_the_others(void)
{
    for (uint32_t k = 0; k < 2; k++) {
        exchanged *results = make_results();
        const char *key = new_key();
        pid_t pids[4];

        for (uint32_t r = 0; r < 4; r++) {
            pids[r] = fork();
            if (pids[r] == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                share_file(key, r, 4, k == 0, &results[r]);
                _exit(0);
            }
        }
        for (uint32_t r = 0; r < 4; r++) {
            T_EQ(waitpid(pids[r], NULL, 0), pids[r]);
        }
        for (uint32_t r = 0; r < 4; r++) {
            T_EQ(results[r].status, SLUICE_OK);
            T_TRUE(k == 0 ? atoi(results[r].text) >= 0 : atoi(results[r].text) == -1);
        }
        T_TRUE(k > 0 || results[0].records[1][0] == 4);
        munmap(results, MOST * sizeof(*results));
    }
}

/* Abstract sockets end with their process. */
static void a_killed_rank_leaves_nothing_to_the_next_job(void)
{
    for (uint32_t victim = 0; victim < 2; victim++) {
        exchanged *results = make_results();
        const char *key = new_key();
        pid_t pids[2] = {start_rank(key, victim, 2, HEALTHY_MS, results), -1};

        usleep(20000);
        kill(pids[0], SIGKILL);
        T_EQ(waitpid(pids[0], NULL, 0), pids[0]);
        for (uint32_t r = 0; r < 2; r++) {
            pids[r] = start_rank(key, r, 2, HEALTHY_MS, results);
        }
        for (uint32_t r = 0; r < 2; r++) {
            T_EQ(waitpid(pids[r], NULL, 0), pids[r]);
            T_EQ(results[r].status, SLUICE_OK);
        }
        munmap(results, MOST * sizeof(*results));
    }
}

static void two_ranks_of_one_number_are_an_error_for_all(void)
{
    exchanged *results = make_results();
    const char *key = new_key();
    pid_t pids[3] = {start_rank(key, 0, 3, HEALTHY_MS, results),
                     start_rank(key, 1, 3, HEALTHY_MS, results),
                     start_rank(key, 1, 3, HEALTHY_MS, results)};

    T_EQ(waitpid(pids[0], NULL, 0), pids[0]);
    kill(pids[1], SIGKILL); /* a rank that rank 0 did not accept would wait for its deadline */
    kill(pids[2], SIGKILL);
    T_EQ(waitpid(pids[1], NULL, 0), pids[1]);
    T_EQ(waitpid(pids[2], NULL, 0), pids[2]);
    T_EQ(results[0].status, SLUICE_E_IO);
    T_CONTAINS(results[0].text, "local rank 1 of 3, which does not fit");
    munmap(results, MOST * sizeof(*results));
}

/* The abstract address of a job; returns its length. */
static socklen_t address_of(const char *key, struct sockaddr_un *address)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (const char *c = key; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
    }
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
                                        "sluice/%lu/%016llx", (unsigned long)geteuid(),
                                        (unsigned long long)hash));
}

/* A rank of another job, and a process that closes the connection without a greeting. */
static void strangers_are_turned_away(void)
{
    exchanged *results = make_results();
    char key[60];
    pid_t pids[2];

    snprintf(key, sizeof(key), "%s", new_key());
    pids[0] = start_rank(key, 0, 2, HEALTHY_MS, results);
    for (int i = 0; i < 50; i++) {
        const int stranger = socket(AF_UNIX, SOCK_STREAM, 0);
        struct sockaddr_un address;
        const socklen_t length = address_of(key, &address);

        if (connect(stranger, (struct sockaddr *)&address, length) == 0 && i % 2 == 0) {
            T_TRUE(send(stranger, "GET / HTTP/1.0\r\n\r\n1234567890", 28, MSG_NOSIGNAL) != 0);
        }
        close(stranger);
        usleep(500);
    }
    pids[1] = start_rank(key, 1, 2, HEALTHY_MS, results);
    for (uint32_t r = 0; r < 2; r++) {
        T_EQ(waitpid(pids[r], NULL, 0), pids[r]);
        T_EQ(results[r].status, SLUICE_OK);
    }
    munmap(results, MOST * sizeof(*results));
}

/* Listens at an address as another user until it is killed. */
static pid_t listen_as_nobody(const struct sockaddr_un *address, socklen_t length)
{
    int ready[2];
    char byte;
    pid_t pid;

    T_EQ(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        const int listener = socket(AF_UNIX, SOCK_STREAM, 0);

        if (setuid(65534) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
            bind(listener, (const struct sockaddr *)address, length) == 0 &&
            listen(listener, 4) == 0 && write(ready[1], "r", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    T_TRUE(pid > 0);
    close(ready[1]);
    T_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* A rank sends nothing to a process of another user that has taken the job's address. */
static void another_user_at_the_address_is_an_error(void)
{
    struct sockaddr_un address;
    exchanged *results;
    char key[60];
    socklen_t length;
    pid_t other;

    if (geteuid() != 0) {
        T_SKIP("only root can start a process of another user");
        return;
    }
    snprintf(key, sizeof(key), "%s", new_key());
    length = address_of(key, &address);
    other = listen_as_nobody(&address, length);
    results = make_results();
    take_part(key, 1, 2, SHORT_MS, &results[1]);
    T_EQ(results[1].status, SLUICE_E_IO);
    T_CONTAINS(results[1].text, "another user listens at the address of this job");
    kill(other, SIGKILL);
    T_EQ(waitpid(other, NULL, 0), other);
    munmap(results, MOST * sizeof(*results));
}

static void impossible_exchanges_are_refused(void)
{
    char record[SLI_EXCHANGE_BYTES + 1] = "";

    T_STATUS(sli_rank_exchange("k", 2, 2, 1, record, 8, record), SLUICE_E_INVALID);
    T_STATUS(sli_rank_exchange("k", 0, SLI_EXCHANGE_RANKS + 1, 1, record, 8, record),
             SLUICE_E_INVALID);
    T_STATUS(sli_rank_exchange("k", 0, 2, 1, record, 0, record), SLUICE_E_INVALID);
    T_STATUS(sli_rank_exchange("k", 0, 2, 1, record, sizeof(record), record), SLUICE_E_INVALID);
}

static void the_key_names_the_job(void)
{
    const sluice_ranks ranks = {.world = 8};
    char before[SLI_JOB_KEY_SIZE];
    char after[SLI_JOB_KEY_SIZE];

    sli_rank_job_key(&ranks, before);
    setenv("TORCHELASTIC_RESTART_COUNT", "3", 1);
    sli_rank_job_key(&ranks, after);
    unsetenv("TORCHELASTIC_RESTART_COUNT");
    T_TRUE(strcmp(before, after) != 0);
    T_STR(sli_rank_job_key(&ranks, after), before);
}

/* True if a process of a session of its own has this key, too. */
static bool other_session_has(const sluice_ranks *ranks, const char *key)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        char other[SLI_JOB_KEY_SIZE];

        (void)setsid();
        _exit(strcmp(sli_rank_job_key(ranks, other), key) == 0 ? 0 : 1);
    }
    T_EQ(waitpid(child, &status, 0), child);
    T_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
}

static void jobs_without_an_id_are_told_apart_by_their_sessions(void)
{
    static const char *const ids[] = {"SLUICE_JOB", "MASTER_PORT", "SLURM_JOB_ID"};
    const sluice_ranks ranks = {.world = 2};
    char key[SLI_JOB_KEY_SIZE];

    T_TRUE(!other_session_has(&ranks, sli_rank_job_key(&ranks, key)));
    setenv("TORCHELASTIC_RESTART_COUNT", "0", 1); /* not an id */
    T_TRUE(!other_session_has(&ranks, sli_rank_job_key(&ranks, key)));
    unsetenv("TORCHELASTIC_RESTART_COUNT");
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        setenv(ids[i], "12", 1);
        T_TRUE(other_session_has(&ranks, sli_rank_job_key(&ranks, key)));
        unsetenv(ids[i]);
    }
}

static void a_long_id_is_part_of_the_key_as_far_as_it_fits(void)
{
    const sluice_ranks ranks = {.world = 2};
    char id[3 * SLI_JOB_KEY_SIZE];
    char key[SLI_JOB_KEY_SIZE];

    memset(id, 'x', sizeof(id) - 1);
    id[sizeof(id) - 1] = '\0';
    setenv("SLUICE_JOB", id, 1);
    T_EQ(strlen(sli_rank_job_key(&ranks, key)), SLI_JOB_KEY_SIZE - 1);
    unsetenv("SLUICE_JOB");
}

const t_test rank_exchange_tests[] = {
    T_TEST(every_rank_gets_every_record),
    T_TEST(local_rank_0_gives_a_descriptor_to_the_others),
    T_TEST(without_one_rank_none_has_the_records),
    T_TEST(a_killed_rank_leaves_nothing_to_the_next_job),
    T_TEST(two_ranks_of_one_number_are_an_error_for_all),
    T_TEST(strangers_are_turned_away),
    T_TEST(another_user_at_the_address_is_an_error),
    T_TEST(impossible_exchanges_are_refused),
    T_TEST(the_key_names_the_job),
    T_TEST(jobs_without_an_id_are_told_apart_by_their_sessions),
    T_TEST(a_long_id_is_part_of_the_key_as_far_as_it_fits),
    T_END,
};
