/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which instructions the kernels may use. Kernels are compiled once for each level and chosen at
 * run time; all levels give the same bits. SLUICE_CPU=portable|v3|v4 chooses a lower level.
 */
#ifndef SLUICE_CPU_INT_H
#define SLUICE_CPU_INT_H

#include <stddef.h>

typedef enum sli_cpu_level {
    SLI_CPU_PORTABLE = 0, /* what the compiler's target has */
    SLI_CPU_V3 = 1,       /* x86-64-v3: AVX2, FMA, F16C */
    SLI_CPU_V4 = 2        /* x86-64-v4: AVX-512 F, BW, CD, DQ, VL */
} sli_cpu_level;

/*
 * In a file compiled once for each level, SLI_AT_LEVEL(name) is name_portable, name_v3 or name_v4;
 * elsewhere SLI_CHOOSE(name) is the one of the level in use.
 */
#define SLI_PASTE_(name, level) name##_##level
#define SLI_PASTE(name, level)  SLI_PASTE_(name, level)
#define SLI_AT_LEVEL(name)      SLI_PASTE(name, SLI_LEVEL)
#if defined(__x86_64__)
#define SLI_CHOOSE(name)                                                                           \
    (sli_cpu_current() == SLI_CPU_V4   ? &name##_v4                                                \
     : sli_cpu_current() == SLI_CPU_V3 ? &name##_v3                                                \
                                       : &name##_portable)
#else
#define SLI_CHOOSE(name) (&name##_portable)
#endif

/* The level in use, decided once: the machine's best, or what SLUICE_CPU asks for below it. */
sli_cpu_level sli_cpu_current(void);

/* The machine's best, whatever the environment says. */
sli_cpu_level sli_cpu_best(void);

const char *sli_cpu_level_name(sli_cpu_level level);

/* The processor's own name ("" when unknown), for reports. */
const char *sli_cpu_model(char *text, size_t size);

#endif
