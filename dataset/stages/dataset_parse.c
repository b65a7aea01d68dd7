/* SPDX-License-Identifier: Apache-2.0 */
/* Builds datasets from text, using the parser with the table of all stages. */
#include <string.h>

#include <sluice/dataset.h>

#include "alloc_int.h"
#include "dataset_state.h"
#include "pipeline_text.h"
#include "stage_registry.h"
#include "status_int.h"

sluice_status sluice_dataset_parse(const char *text, sluice_dataset **dataset_out)
{
    if (text == NULL || dataset_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_parse: text or dataset_out is NULL");
    }
    return pipeline_parse(registry_stages(), text, NULL, NULL, dataset_out);
}

sluice_status sluice_dataset_parse_args(const char *text, const char *const *names,
                                        const char *const *values, size_t count,
                                        sluice_dataset **dataset_out)
{
    pipeline_args args;
    sluice_status st;

    if (text == NULL || dataset_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_parse_args: text or dataset_out is NULL");
    }
    st = pipeline_args_init(&args, names, values, count);
    return st == SLUICE_OK ? pipeline_parse(registry_stages(), text, NULL, &args, dataset_out) : st;
}

/* Parses a pipeline file; skips a byte order mark at its beginning. */
static sluice_status parse_file(const char *path, pipeline_args *args, sluice_dataset **dataset_out)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    char *text = NULL;
    sluice_status st = pipeline_read_file(path, &text);

    if (st != SLUICE_OK) {
        return st;
    }
    st = pipeline_parse(registry_stages(), strncmp(text, byte_order_mark, 3) == 0 ? text + 3 : text,
                        path, args, dataset_out);
    sli_free(text);
    return st;
}

sluice_status sluice_dataset_parse_file(const char *path, sluice_dataset **dataset_out)
{
    if (path == NULL || dataset_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_parse_file: path or dataset_out is NULL");
    }
    return parse_file(path, NULL, dataset_out);
}

sluice_status sluice_dataset_parse_file_args(const char *path, const char *const *names,
                                             const char *const *values, size_t count,
                                             sluice_dataset **dataset_out)
{
    pipeline_args args;
    sluice_status st;

    if (path == NULL || dataset_out == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_dataset_parse_file_args: path or dataset_out is NULL");
    }
    st = pipeline_args_init(&args, names, values, count);
    return st == SLUICE_OK ? parse_file(path, &args, dataset_out) : st;
}

sluice_status sluice_dataset_add(sluice_dataset *dataset, const char *text)
{
    sluice_status st = dataset_status(dataset, "sluice_dataset_add");

    if (st == SLUICE_OK) {
        st = dataset_check_unused(dataset, "add");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = text != NULL ? pipeline_add(registry_stages(), text, dataset)
                      : sli_fail(SLUICE_E_INVALID, "sluice_dataset_add: text is NULL");
    sli_error_take(st, &dataset->error);
    return st;
}
