/* SPDX-License-Identifier: Apache-2.0 */
/* Back-off, cached descriptors, and opening where descriptors have run out. */
#include "descriptor_int.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fault_kit.h"
#include "testing.h"

static const int64_t MS = 1000000;

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

static int open_null(const sli_interrupt *interrupt)
{
    return sli_openat(AT_FDCWD, "/dev/null", O_RDONLY | O_CLOEXEC, 0, interrupt);
}

/* ---- back-off -------------------------------------------------------------------------------- */

static void pauses_double_up_to_a_limit_and_end_with_their_sum(void)
{
    sli_backoff backoff = {.limit_ns = 1000 * MS};
    int64_t want[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 256, 233};

    fault_pauses_begin();
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        T_TRUE(sli_backoff_pause(&backoff, NULL));
        T_EQ(backoff.pause_ns, want[i] * MS);
        T_EQ(pauses.count, i + 1);
    }
    T_TRUE(!sli_backoff_pause(&backoff, NULL));
    T_EQ(pauses.count, 11);
    T_EQ(pauses.slept_ns, 1000 * MS);
    fault_pauses_end();
}

static bool after_two_pauses(void *arg)
{
    (void)arg;
    return atomic_load(&pauses.count) >= 2;
}

static void an_interrupt_ends_the_pauses(void)
{
    const sli_interrupt interrupt = {after_two_pauses, NULL};
    sli_backoff backoff = {.limit_ns = 1000 * MS};

    fault_pauses_begin();
    T_TRUE(sli_backoff_pause(&backoff, &interrupt));
    T_TRUE(!sli_backoff_pause(&backoff, &interrupt));
    T_TRUE(!sli_backoff_pause(&backoff, &interrupt));
    T_EQ(pauses.count, 2);
    fault_pauses_end();
}

/* ---- cached descriptors ---------------------------------------------------------------------- */

static void dropping_closes_what_no_thread_uses(void)
{
    sli_held_file files[3];
    int fds[3];

    memset(files, 0, sizeof(files));
    for (int i = 0; i < 3; i++) {
        fds[i] = open_null(NULL);
        sli_held_file_put(&files[i], fds[i]);
        T_TRUE(sli_held_file_is_held(&files[i]));
    }
    T_EQ(sli_held_file_borrow(&files[1]), fds[1]);
    T_EQ(sli_held_file_borrow(&files[1]), fds[1]);
    sli_held_file_give_back(&files[1]);
    T_EQ(sli_held_files_drop(), 2);
    T_TRUE(!is_open(fds[0]) && is_open(fds[1]) && !is_open(fds[2]));
    T_EQ(sli_held_file_borrow(&files[0]), -1);
    T_TRUE(!sli_held_file_is_held(&files[2]));
    sli_held_file_give_back(&files[1]);
    T_EQ(sli_held_files_drop(), 1);
    T_TRUE(!is_open(fds[1]));
    T_EQ(sli_held_files_drop(), 0);
    sli_held_file_put(&files[0], open_null(NULL));
    T_EQ(sli_held_file_borrow(&files[0]), fds[0]);
    sli_held_file_give_back(&files[0]);
    for (int i = 0; i < 3; i++) {
        sli_held_file_close(&files[i]);
    }
    T_TRUE(!is_open(fds[0]));
    T_EQ(sli_held_files_drop(), 0);
}

typedef struct borrower {
    sli_held_file *file;
    bool found_closed;
} borrower;

static void *borrow_until_none_is_held(void *arg)
{
    borrower *b = arg;

    for (int fd; (fd = sli_held_file_borrow(b->file)) >= 0;) {
        sched_yield();
        b->found_closed = b->found_closed || !is_open(fd);
        sli_held_file_give_back(b->file);
        sched_yield();
    }
    return NULL;
}

static void a_borrowed_descriptor_stays_open_while_others_drop_it(void)
{
    for (int i = 0; i < 100; i++) {
        sli_held_file file;
        borrower borrowers[2];
        pthread_t threads[2];

        memset(&file, 0, sizeof(file));
        sli_held_file_put(&file, open_null(NULL));
        for (int k = 0; k < 2; k++) {
            borrowers[k] = (borrower){&file, false};
            T_EQ(pthread_create(&threads[k], NULL, borrow_until_none_is_held, &borrowers[k]), 0);
        }
        while (sli_held_files_drop() == 0) {
            sched_yield();
        }
        for (int k = 0; k < 2; k++) {
            pthread_join(threads[k], NULL);
            T_TRUE(!borrowers[k].found_closed);
        }
    }
}

static void at_most_half_of_the_limit_is_held(void)
{
    enum { LIMIT = 40 };
    sli_held_file files[LIMIT];
    struct rlimit usual;
    struct rlimit few;
    int held = 0;

    memset(files, 0, sizeof(files));
    T_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    few.rlim_cur = LIMIT;
    T_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int i = 0; i < LIMIT; i++) {
        const int fd = open_null(NULL);

        sli_held_file_put(&files[i], fd);
        T_EQ(is_open(fd), sli_held_file_is_held(&files[i]));
        held += sli_held_file_is_held(&files[i]);
    }
    T_EQ(held, LIMIT / 2);
    for (int i = 0; i < LIMIT; i++) {
        sli_held_file_close(&files[i]);
    }
    T_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void opening_drops_cached_descriptors_and_needs_no_pause_then(void)
{
    sli_held_file file;
    int held;
    int fd;

    memset(&file, 0, sizeof(file));
    fault_pauses_begin();
    held = open_null(NULL);
    sli_held_file_put(&file, held);
    fault_take_descriptors();
    fd = open_null(NULL);
    T_EQ(fd, held);
    T_EQ(pauses.count, 0);
    T_TRUE(!sli_held_file_is_held(&file));
    fault_pauses_end();
    close(fd);
}

static void opening_waits_for_descriptors(void)
{
    int fd;

    fault_pauses_begin();
    fault_take_descriptors();
    pauses.restore_at = 5;
    fd = open_null(NULL);
    T_TRUE(fd >= 0);
    T_EQ(pauses.count, 5);
    fault_pauses_end();
    close(fd);
}

static void opening_gives_up_after_ten_seconds(void)
{
    fault_pauses_begin();
    fault_take_descriptors();
    T_EQ(open_null(NULL), -1);
    T_EQ(errno, EMFILE);
    T_EQ(pauses.slept_ns, 10000 * MS);
    fault_pauses_end();
}

static void opening_gives_up_when_it_is_interrupted(void)
{
    const sli_interrupt interrupt = {after_two_pauses, NULL};

    fault_pauses_begin();
    fault_take_descriptors();
    T_EQ(open_null(&interrupt), -1);
    T_EQ(errno, EMFILE);
    T_EQ(pauses.count, 2);
    fault_pauses_end();
}

static void other_errors_are_not_waited_for(void)
{
    fault_pauses_begin();
    T_EQ(sli_openat(AT_FDCWD, "/nowhere/nothing", O_RDONLY, 0, NULL), -1);
    T_EQ(errno, ENOENT);
    T_EQ(pauses.count, 0);
    fault_pauses_end();
}

enum { MANY_BYTES = 300000 }; /* more than a pipe holds */

static void *write_many(void *arg)
{
    static uint8_t bytes[MANY_BYTES];

    for (uint32_t i = 0; i < MANY_BYTES; i++) {
        bytes[i] = (uint8_t)(i % 251);
    }
    T_EQ(sli_write(*(int *)arg, bytes, sizeof(bytes)), 0);
    close(*(int *)arg);
    return NULL;
}

static void all_bytes_are_read_and_written(void)
{
    static uint8_t bytes[MANY_BYTES + 1];
    uint32_t wrong = 0;
    pthread_t writer;
    int ends[2];

    T_EQ(pipe(ends), 0);
    T_EQ(pthread_create(&writer, NULL, write_many, &ends[1]), 0);
    T_EQ(sli_read(ends[0], bytes, sizeof(bytes)), MANY_BYTES);
    T_EQ(pthread_join(writer, NULL), 0);
    for (uint32_t i = 0; i < MANY_BYTES; i++) {
        wrong += bytes[i] != i % 251;
    }
    T_EQ(wrong, 0);
    close(ends[0]);
}

/* A thread that is in a read(). */
typedef struct interrupted_reader {
    pthread_t thread;
    int to; /* the end of its pipe that is written to */
} interrupted_reader;

static void do_nothing(int number)
{
    (void)number;
}

/* Interrupts the reader many times, and only then writes what it reads. */
static void *interrupt_and_write(void *arg)
{
    const interrupted_reader *reader = arg;

    for (int i = 0; i < 50; i++) {
        pthread_kill(reader->thread, SIGUSR1);
        usleep(1000);
    }
    T_EQ(sli_write(reader->to, "abcd", 4), 0);
    return NULL;
}

static void signals_do_not_end_a_read(void)
{
    const struct sigaction nothing = {.sa_handler = do_nothing};
    interrupted_reader reader = {.thread = pthread_self()};
    struct sigaction before;
    pthread_t writer;
    char bytes[4];
    int ends[2];

    T_EQ(sigaction(SIGUSR1, &nothing, &before), 0);
    T_EQ(pipe(ends), 0);
    reader.to = ends[1];
    T_EQ(pthread_create(&writer, NULL, interrupt_and_write, &reader), 0);
    T_EQ(sli_read(ends[0], bytes, 4), 4);
    T_EQ(pthread_join(writer, NULL), 0);
    T_EQ(sigaction(SIGUSR1, &before, NULL), 0);
    close(ends[0]);
    close(ends[1]);
}

static void bytes_are_read_and_written_at_an_offset(void)
{
    const int fd = memfd_create("bytes", MFD_CLOEXEC);
    char bytes[10] = "";

    T_TRUE(fd >= 0);
    T_EQ(sli_pwrite(fd, "abc", 3, 5), 0);
    T_EQ(sli_pread(fd, bytes, sizeof(bytes), 4), 4); /* the file ends */
    T_TRUE(memcmp(bytes, "\0abc", 4) == 0);
    close(fd);
    T_EQ(sli_pread(-1, bytes, sizeof(bytes), 0), -1);
    T_EQ(errno, EBADF);
    T_EQ(sli_write(-1, bytes, sizeof(bytes)), -1);
    T_EQ(errno, EBADF);
}

const t_test descriptor_tests[] = {
    T_TEST(pauses_double_up_to_a_limit_and_end_with_their_sum),
    T_TEST(an_interrupt_ends_the_pauses),
    T_TEST(dropping_closes_what_no_thread_uses),
    T_TEST(a_borrowed_descriptor_stays_open_while_others_drop_it),
    T_TEST(at_most_half_of_the_limit_is_held),
    T_TEST(opening_drops_cached_descriptors_and_needs_no_pause_then),
    T_TEST(opening_waits_for_descriptors),
    T_TEST(opening_gives_up_after_ten_seconds),
    T_TEST(opening_gives_up_when_it_is_interrupted),
    T_TEST(other_errors_are_not_waited_for),
    T_TEST(all_bytes_are_read_and_written),
    T_TEST(signals_do_not_end_a_read),
    T_TEST(bytes_are_read_and_written_at_an_offset),
    T_END,
};
