/* SPDX-License-Identifier: Apache-2.0 */
#include "mapped_step.h"

sluice_status mapped_step_call(const sluice_step *step, void *user)
{
    const mapped_step *m = user;
    sluice_step view = *step;
    sluice_status st = device_maps_call(m->maps, 0, &view);

    if (st == SLUICE_OK && m->mark != NULL) {
        st = m->mark(m->program);
    }
    return st == SLUICE_OK ? m->step(&view, m->user) : st;
}
