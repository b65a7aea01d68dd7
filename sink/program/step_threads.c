/* SPDX-License-Identifier: Apache-2.0 */
#include "step_threads.h"

#include <stdio.h>
#include <stdlib.h>

#include "format_int.h"
#include "log_int.h"

void step_threads_find(const sink_program *program, sluice_mode mode, step_threads *threads_out)
{
    const program_ops *ops = program->ops;

    *threads_out = (step_threads){.name = ""};
    if (ops->thread == NULL || ops->call == NULL) { /* the program only enqueues steps */
        return;
    }
    if (mode == SLUICE_MODE_DATA) {
        snprintf(threads_out->name, sizeof(threads_out->name), "caller");
        (void)sli_cpus_of_thread(&threads_out->cpus);
        return;
    }
    snprintf(threads_out->name, sizeof(threads_out->name), "%s", ops->thread(program)->name);
    threads_out->count = sli_threads_named(threads_out->name, &threads_out->cpus);
}

bool step_threads_take_turns(const step_threads *threads)
{
    return threads->count > 1 && threads->count > sli_cpus_count(&threads->cpus);
}

/* The first environment variable found that makes OpenMP bind threads; NULL if no such variable is
 * set. */
static const char *find_binding(void)
{
    static const char *const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                        "KMP_AFFINITY"};
    static const char *const none[] = {"", "false", "none", "disabled"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        bool binds = value != NULL;

        for (size_t k = 0; binds && k < sizeof(none) / sizeof(none[0]); k++) {
            binds = !sli_same_word(value, none[k]);
        }
        if (binds) {
            return names[i];
        }
    }
    return NULL;
}

void step_threads_warn_of_binding(const sli_topology *topology)
{
    const char *variable = topology->bound && topology->core_count == 1 ? find_binding() : NULL;

    if (variable != NULL) {
        sli_log(SLUICE_LOG_WARN,
                "this thread is bound to 1 of %u cores, which the workers and the step share, and "
                "%s is set: OpenMP has bound it; unset %s, or call sluice_train() on a thread with "
                "the affinity of the process",
                topology->machine_core_count, variable, variable);
    }
}
