/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for, from the text of /proc/self/task/TID/syscall. */
#include <stdio.h>

#include "testing.h"
#include "wait_probe.h"

static void system_calls_tell_locks_from_sleep(void)
{
    wait_counts counts = {0};
    char futex[60];

    T_TRUE(wait_probe_count("running\n", &counts));
    T_EQ(counts.running, 1);
    snprintf(futex, sizeof(futex), "%ld 0x7f 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7f\n", (long)WAIT_FUTEX);
    T_TRUE(wait_probe_count(futex, &counts));
    T_EQ(counts.locked, 1);
    T_TRUE(wait_probe_count("-1 0x7ffe 0x7f\n", &counts));
    T_TRUE(wait_probe_count("35 0x7ffe 0x0 0x0 0x0 0x0 0x0 0x7ffe 0x7f\n", &counts));
    T_EQ(counts.asleep, 2);
    T_TRUE(!wait_probe_count("", &counts));
    T_TRUE(!wait_probe_count("none\n", &counts));
    T_TRUE(!wait_probe_count("12x\n", &counts));
    T_EQ(counts.running + counts.locked + counts.asleep, 4);
}

const t_test wait_probe_tests[] = {
    T_TEST(system_calls_tell_locks_from_sleep),
    T_END,
};
