/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu_int.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_int.h"

static const char *const level_names[] = {"portable", "v3", "v4"};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sli_cpu_level current;

sli_cpu_level sli_cpu_best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0 ||
        __builtin_cpu_supports("bmi2") == 0) {
        return SLI_CPU_PORTABLE;
    }
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512vl") != 0) {
        return SLI_CPU_V4;
    }
    return SLI_CPU_V3;
#else
    return SLI_CPU_PORTABLE;
#endif
}

static void choose_level(void)
{
    const char *text = getenv("SLUICE_CPU");
    sli_cpu_level best = sli_cpu_best();

    current = best;
    if (text == NULL) {
        return;
    }
    for (int i = SLI_CPU_PORTABLE; i <= SLI_CPU_V4; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            current = (sli_cpu_level)i < best ? (sli_cpu_level)i : best;
            sli_log(SLUICE_LOG_WARN, "SLUICE_CPU=%s: kernels for %s", text, level_names[current]);
            return;
        }
    }
    sli_log(SLUICE_LOG_WARN, "SLUICE_CPU=%s must be portable, v3 or v4: kernels for %s", text,
            level_names[best]);
}

sli_cpu_level sli_cpu_current(void)
{
    pthread_once(&once, choose_level);
    return current;
}

const char *sli_cpu_level_name(sli_cpu_level level)
{
    return level_names[level];
}

const char *sli_cpu_model(char *text, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");

    text[0] = '\0';
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *value = strchr(line, ':');

        if (strncmp(line, "model name", 10) == 0 && value != NULL) {
            value[strcspn(value, "\n")] = '\0';
            snprintf(text, size, "%s", value + 2);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}
