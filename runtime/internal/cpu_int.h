/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU dispatch: the instruction set level of the kernels. Kernels are compiled once per level and
 * selected at run time; all levels give the same bits. SLUICE_CPU=portable|v3|v4 selects a lower
 * level.
 */
#ifndef SLUICE_CPU_INT_H
#define SLUICE_CPU_INT_H

#include <stddef.h>

typedef enum sli_cpu_level {
    SLI_CPU_PORTABLE = 0, /* the compiler's target */
    SLI_CPU_V3 = 1,       /* x86-64-v3: AVX2, FMA, F16C */
    SLI_CPU_V4 = 2        /* x86-64-v4: AVX-512 F, BW, CD, DQ, VL */
} sli_cpu_level;

/*
 * In a file that is compiled once per level, SLI_AT_LEVEL(name) is name_portable, name_v3 or
 * name_v4. Elsewhere SLI_CHOOSE(name) is the address of the variant for the current level.
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

/* The current level, selected once: the best level of the machine, or a lower one by SLUICE_CPU. */
sli_cpu_level sli_cpu_current(void);

/* The best level of the machine, regardless of the environment. */
sli_cpu_level sli_cpu_best(void);

const char *sli_cpu_level_name(sli_cpu_level level);

/* The model name of the processor, for reports; "": unknown. */
const char *sli_cpu_model(char *text, size_t size);

#endif
