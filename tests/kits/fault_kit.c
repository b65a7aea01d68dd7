/* SPDX-License-Identifier: Apache-2.0 */
#include "fault_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backoff_int.h"
#include "testing.h"

fault_pauses pauses;
static struct rlimit usual;

static void restore_descriptors(void)
{
    T_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

static void count_pause(int64_t ns, void *arg)
{
    (void)arg;
    atomic_fetch_add(&pauses.slept_ns, ns);
    if (atomic_fetch_add(&pauses.count, 1) + 1 == pauses.restore_at) {
        restore_descriptors();
    }
    if (pauses.also != NULL) {
        pauses.also(pauses.arg);
    }
}

void fault_pauses_begin(void)
{
    T_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
    atomic_store(&pauses.count, 0);
    atomic_store(&pauses.slept_ns, 0);
    pauses.restore_at = 0;
    pauses.also = NULL;
    sli_backoff_replace_sleep(count_pause, NULL);
}

void fault_take_descriptors(void)
{
    const int next = fcntl(0, F_DUPFD, 0); /* all below are in use */
    struct rlimit none = usual;

    if (next < 0) {
        T_EQ(errno, EMFILE);
        return; /* there are none */
    }
    close(next);
    none.rlim_cur = (rlim_t)next;
    T_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
}

void fault_pauses_end(void)
{
    restore_descriptors();
    sli_backoff_replace_sleep(NULL, NULL);
}
