/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the values of stages' arguments, whether from a text or from a C caller. */
#include <math.h>
#include <stdio.h>

#include "format_int.h"
#include "stage.h"
#include "status_int.h"

static sluice_status check_bounds(const stage_def *def, const stage_param *param, double value)
{
    /* Also rejects NaN, which only C callers can pass. */
    if ((param->low != 0 || param->high != 0) && !(value >= param->low && value <= param->high)) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s=%.12g must be from %.12g to %.12g", def->name,
                        param->name, value, param->low, param->high);
    }
    return SLUICE_OK;
}

static sluice_status check_size(const stage_def *def, const stage_param *param,
                                const param_size *size)
{
    sluice_status st = check_bounds(def, param, size->height);

    return st == SLUICE_OK && size->width != 0 ? check_bounds(def, param, size->width) : st;
}

static sluice_status check_reals(const stage_def *def, const stage_param *param,
                                 const param_reals *reals)
{
    for (uint32_t i = 0; i < reals->count; i++) {
        if (!isfinite(reals->values[i])) {
            return sli_fail(SLUICE_E_INVALID, "%s: %s=%g must be a finite number", def->name,
                            param->name, reals->values[i]);
        }
    }
    return SLUICE_OK;
}

sluice_status stage_arg_check(const stage_def *def, const stage_param *param, const void *args)
{
    const void *from = (const unsigned char *)args + param->offset;

    switch (param->type) {
    case PARAM_COUNT:
    case PARAM_BYTES:
        return check_bounds(def, param, (double)*(const uint64_t *)from);
    case PARAM_INT:
        return check_bounds(def, param, (double)*(const int64_t *)from);
    case PARAM_REAL:
        return check_bounds(def, param, *(const double *)from);
    case PARAM_SIZE:
        return check_size(def, param, from);
    case PARAM_REALS:
        return check_reals(def, param, from);
    case PARAM_TEXT:
        return *(const char *const *)from != NULL
                   ? SLUICE_OK
                   : sli_fail(SLUICE_E_INVALID, "%s: %s is missing", def->name, param->name);
    default: /* without bounds */
        return SLUICE_OK;
    }
}

sluice_status stage_args_check(const stage_def *def, void *args)
{
    for (uint32_t i = 0; i < def->param_count; i++) {
        sluice_status st = stage_arg_check(def, &def->params[i], args);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    return def->check != NULL ? def->check(args) : SLUICE_OK;
}

sluice_status stage_check_range(const char *stage, const char *name, const param_reals *range,
                                double least, double most)
{
    const double *ends = range->values;
    char want[100];

    if (range->count == 2 && ends[0] >= least && ends[0] <= ends[1] && ends[1] <= most) {
        return SLUICE_OK;
    }
    sli_print(want, sizeof(want), "%g <= LOW <= HIGH <= %g", least, most);
    return stage_wrong_range(stage, name, range, want);
}

sluice_status stage_wrong_range(const char *stage, const char *name, const param_reals *range,
                                const char *want)
{
    char value[64] = "";

    if (range->name[0] == '\0' && range->count == 2) {
        sli_print(value, sizeof(value), "=%g,%g", range->values[0], range->values[1]);
    }
    return sli_fail(SLUICE_E_INVALID, "%s: %s%s must be LOW,HIGH with %s", stage, name, value,
                    want);
}
