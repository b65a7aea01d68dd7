/* SPDX-License-Identifier: Apache-2.0 */
/* What programs have in common, and which run on which kind of device. */
#include "program.h"

#include <string.h>

static const program_ops *const tables[] = {
#if defined(SLI_HAVE_CUDA)
    &cuda_program_ops,
#endif
    &host_program_ops};

const program_ops *program_ops_of(const sluice_device *device)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (strcmp(tables[i]->kind, device->backend->kind) == 0) {
            return tables[i];
        }
    }
    return NULL;
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
                    "step %llu: output %s is %g; try a lower learning rate, look at the batch by "
                    "its digest or ids, or go on with nan_guard count",
                    (unsigned long long)step, model->output_names[output], (double)value);
}
