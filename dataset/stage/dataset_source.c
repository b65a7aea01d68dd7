/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the source of a dataset. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "dataset_state.h"

/*
 * Improves the error of a source that could not be opened: if its text arguments, joined by blanks,
 * are an existing path, the message says that the path must be quoted.
 */
static sluice_status hint_at_quotes(const dataset_stage *first, sluice_status status)
{
    sli_error error;
    char path[PATH_MAX] = "";
    size_t length = 0;

    sli_error_take(status, &error);
    for (uint32_t i = 0; i < first->def->param_count && length < sizeof(path); i++) {
        const stage_param *param = &first->def->params[i];

        if (param->type != PARAM_TEXT) {
            break;
        }
        length += (size_t)snprintf(path + length, sizeof(path) - length, "%s%s", i > 0 ? " " : "",
                                   *(const char *const *)(first->args.bytes + param->offset));
        if (i > 0 && length < sizeof(path) && access(path, F_OK) == 0) {
            return sli_fail_with(status, error.error_number,
                                 "%.400s; put a path with blanks in quotes: %s '%.400s'",
                                 error.text, first->def->name, path);
        }
    }
    return status;
}

bool dataset_opens_early(const sluice_dataset *dataset)
{
    const dataset_stage *first = &dataset->stages[0];
    const source_stage_ops *ops = first->def->source;

    return ops->schema != NULL && (ops->opens_early == NULL || ops->opens_early(first->args.bytes));
}

sluice_status dataset_source_open(sluice_dataset *dataset)
{
    const dataset_stage *first = &dataset->stages[0];
    sluice_status st = SLUICE_OK;

    if (dataset->source != NULL) {
        return SLUICE_OK;
    }
    dataset->ops = first->def->source->ops;
    if (first->def->source->choose != NULL) {
        st = first->def->source->choose(first->args.bytes, &dataset->ops);
    }
    if (st == SLUICE_OK) {
        st = dataset->ops->open(first->args.bytes, &dataset->source);
    }
    return st == SLUICE_OK ? st : hint_at_quotes(first, st);
}

void dataset_source_close(sluice_dataset *dataset)
{
    if (dataset->source != NULL) {
        dataset_source(dataset)->close(dataset->source);
    }
    dataset->source = NULL;
    dataset->ops = NULL;
}

sluice_status dataset_check_numbers(const sluice_dataset *dataset)
{
    return dataset_is_stream(dataset)
               ? sli_fail(SLUICE_E_UNSUPPORTED,
                          "%s is a stream here, which has no numbers of samples; %s",
                          dataset->stages[0].def->name, dataset_source(dataset)->instead)
               : SLUICE_OK;
}
