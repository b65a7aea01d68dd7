/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as files of /proc and /sys: schedstat, pressure, cpu.stat. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "machine_load_int.h"
#include "thread_times_int.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* of the exact size: a read behind its end is found */
    sli_throttling throttling;
    int64_t number = 0;
    uint32_t cpu = 0;

    if (text == NULL) {
        return 0;
    }
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    if (sli_schedstat_parse(text, &number) && number < 0) {
        fuzz_fail("a time below zero");
    }
    if (sli_pressure_parse(text, &number) && number < 0) {
        fuzz_fail("a pressure below zero");
    }
    if (sli_throttling_parse(text, &throttling) &&
        (throttling.periods < 0 || throttling.throttled_periods < 0 ||
         throttling.throttled_ns < 0)) {
        fuzz_fail("throttling below zero");
    }
    if (sli_busy_parse(text, &cpu, &number) && (cpu >= SLI_MAX_CPUS || number < 0)) {
        fuzz_fail("the time of no CPU");
    }
    free(text);
    return 0;
}
