/* SPDX-License-Identifier: Apache-2.0 */
/* Builds datasets from text, using the parser with the table of all stages. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sluice/dataset.h>

#include "alloc_int.h"
#include "dataset_state.h"
#include "pack_fields.h"
#include "path_stage.h"
#include "pipeline_text.h"
#include "pipeline_values.h"
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

sluice_status sluice_dataset_parse_path(const char *path, sluice_dataset **dataset_out)
{
    static const char function[] = "sluice_dataset_parse_path";
    const sluice_value value = {.type = SLUICE_VALUE_TEXT, .text = path};
    const char *stage;
    char text[64];
    bool more = false;
    sluice_status st;

    if (path == NULL || dataset_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: path or dataset_out is NULL", function);
    }
    if (access(path, F_OK) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open %s", path);
    }
    stage = path_stage(path);
    if (stage == NULL && path_is_folder(path)) {
        stage = "image_folder"; /* its error has what the folder must hold */
    }
    if (stage == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "no source reads a file of this name: %s; give a pipeline, such as "
                        "\"tokens FILE seq=1024\"; `sluice help stages` lists the sources",
                        path);
    }
    if (path_stage_more(stage)[0] != '\0') {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: a path alone does not say all that %s must know; give a pipeline, such "
            "as \"%s FILE%s\"; `sluice help %s` has its arguments",
            path, stage, stage, path_stage_more(stage), stage);
    }
    st = strcmp(stage, "webdataset") == 0 ? pack_fields_are_more(path, &more) : SLUICE_OK;
    if (st != SLUICE_OK) {
        return st;
    }
    snprintf(text, sizeof(text), "%s {}%s", stage, more ? " fields=auto" : "");
    return sluice_dataset_parse_values(text, &value, 1, dataset_out);
}

/* Adds stages whose text is complete; the error is sticky. */
static sluice_status add_text(sluice_dataset *dataset, sluice_status st, const char *text)
{
    if (st == SLUICE_OK) {
        st = pipeline_add(registry_stages(), text, dataset);
    }
    sli_error_take(st, &dataset->error);
    return st;
}

/* Can stages be added? */
static sluice_status may_add(sluice_dataset *dataset, const char *function)
{
    const sluice_status st = dataset_status(dataset, function);

    return st == SLUICE_OK ? dataset_check_unused(dataset, "add") : st;
}

sluice_status sluice_dataset_add(sluice_dataset *dataset, const char *text)
{
    const sluice_status st = may_add(dataset, "sluice_dataset_add");

    if (st != SLUICE_OK) {
        return st;
    }
    return add_text(dataset,
                    text != NULL ? SLUICE_OK
                                 : sli_fail(SLUICE_E_INVALID, "sluice_dataset_add: text is NULL"),
                    text);
}

/* ---- texts with values ----------------------------------------------------------------------- */

/* pipeline_put_values() of the arguments of a public function. */
static sluice_status put_values(const char *function, const char *text, const sluice_value *values,
                                size_t count, sli_text *out)
{
    if (text == NULL || (values == NULL && count > 0)) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s is NULL", function,
                        text == NULL ? "text" : "values");
    }
    return pipeline_put_values(text, values, count, out);
}

/* Parses a complete text, which is freed. */
static sluice_status parse_filled(sluice_status st, sli_text *text, sluice_dataset **dataset_out)
{
    if (st == SLUICE_OK) {
        st = pipeline_parse(registry_stages(), text->data != NULL ? text->data : "", NULL, NULL,
                            dataset_out);
    }
    sli_text_free(text);
    return st;
}

/* Adds the stages of a complete text, which is freed. */
static sluice_status add_filled(sluice_dataset *dataset, sluice_status st, sli_text *text)
{
    st = add_text(dataset, st, text->data != NULL ? text->data : "");
    sli_text_free(text);
    return st;
}

sluice_status sluice_dataset_parse_values(const char *text, const sluice_value *values,
                                          size_t count, sluice_dataset **dataset_out)
{
    sli_text filled = {0};

    if (dataset_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_parse_values: dataset_out is NULL");
    }
    return parse_filled(put_values("sluice_dataset_parse_values", text, values, count, &filled),
                        &filled, dataset_out);
}

sluice_status sluice_dataset_add_values(sluice_dataset *dataset, const char *text,
                                        const sluice_value *values, size_t count)
{
    const sluice_status st = may_add(dataset, "sluice_dataset_add_values");
    sli_text filled = {0};

    if (st != SLUICE_OK) {
        return st;
    }
    return add_filled(
        dataset, put_values("sluice_dataset_add_values", text, values, count, &filled), &filled);
}

sluice_status sluice_dataset_parsef(sluice_dataset **dataset_out, const char *format, ...)
{
    sli_text filled = {0};
    sluice_status st;
    va_list args;

    if (dataset_out == NULL || format == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_dataset_parsef: dataset_out or format is NULL");
    }
    va_start(args, format);
    st = pipeline_put_args(format, args, &filled);
    va_end(args);
    return parse_filled(st, &filled, dataset_out);
}

sluice_status sluice_dataset_addf(sluice_dataset *dataset, const char *format, ...)
{
    sluice_status st = may_add(dataset, "sluice_dataset_addf");
    sli_text filled = {0};
    va_list args;

    if (st != SLUICE_OK) {
        return st;
    }
    if (format == NULL) {
        st = sli_fail(SLUICE_E_INVALID, "sluice_dataset_addf: format is NULL");
    } else {
        va_start(args, format);
        st = pipeline_put_args(format, args, &filled);
        va_end(args);
    }
    return add_filled(dataset, st, &filled);
}
