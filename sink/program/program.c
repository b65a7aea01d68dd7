/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the sink programs of all device kinds. */
#include "program.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "log_int.h"

const char *sluice_mode_name(sluice_mode mode)
{
    static const char *const names[] = {"auto", "direct", "data", "graph", "loop"};

    return (unsigned)mode < sizeof(names) / sizeof(names[0]) ? names[mode] : "?";
}

/* Most callers dereference the result unchecked, so the log explains the crash that follows. Warns
 * once per process, because a step may probe for an optional column in every call. */
static void warn_of_unknown_input(const sluice_step *step, const char *name)
{
    static atomic_flag is_logged = ATOMIC_FLAG_INIT;
    char names[400] = "";
    size_t used = 0;

    if (atomic_flag_test_and_set_explicit(&is_logged, memory_order_relaxed)) {
        return;
    }
    for (uint32_t i = 0; i < step->input_count && used < sizeof(names); i++) {
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                 step->inputs[i].name);
    }
    sli_log(SLUICE_LOG_WARN,
            "sluice_step_input: the batch has no column %.60s, so the result is NULL; its columns "
            "are %s",
            name, names);
}

const sluice_tensor *sluice_step_input(const sluice_step *step, const char *name)
{
    if (step == NULL || name == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (strcmp(step->inputs[i].name, name) == 0) {
            return &step->inputs[i];
        }
    }
    warn_of_unknown_input(step, name);
    return NULL;
}

const sluice_step_record *sluice_hook_record(const sluice_hook *hook, uint64_t index)
{
    const sluice_step_record *records = hook != NULL ? hook->records : NULL;

    return records != NULL && index < hook->record_count ? &records[index] : NULL;
}

float program_rate(const sluice_schedule *schedule, uint64_t step)
{
    if (schedule->function != NULL) {
        return schedule->function(step, schedule->user);
    }
    return schedule->count == 0
               ? 0
               : schedule->table[step < schedule->count ? step : schedule->count - 1];
}

sluice_status program_fail_nan(const sluice_model *model, uint64_t step, uint32_t output,
                               float value)
{
    return sli_fail(SLUICE_E_NAN,
                    "step %llu: output %s is %g; check that the inputs have the type that the "
                    "step reads (model.inputs) and are normalized, lower the learning rate, or "
                    "count such steps by nan_guard",
                    (unsigned long long)step, model->output_names[output], (double)value);
}
