/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_columns.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "fault_int.h"
#include "pack_fields.h"
#include "pack_values.h"
#include "status_int.h"

static sluice_status open_dataset(verify_columns *columns, const char *folder)
{
    const char *const names[] = {"FOLDER"};
    char *format = NULL;
    char *fields = NULL;
    char text[1200];
    sluice_status st = pack_fields_format(folder, &format);

    if (st == SLUICE_OK) {
        st = pack_fields_read(folder, &fields);
    }
    if (st == SLUICE_OK) {
        const char *source = format != NULL ? format : "webdataset";
        const bool is_npy = strcmp(source, "npy") == 0 && fields != NULL;

        snprintf(text, sizeof(text), "%.100s ${FOLDER}%s%.1000s", source,
                 strcmp(source, "webdataset") == 0 ? " fields=auto"
                 : is_npy                          ? " ragged="
                                                   : "",
                 is_npy ? fields : "");
        st = sluice_dataset_parse_args(text, names, &folder, 1, &columns->dataset);
    }
    sli_free(fields);
    columns->writer = format != NULL ? sample_writer_find(format) : NULL;
    sli_free(format);

    if (st == SLUICE_OK) {
        st = dataset_open(columns->dataset);
    }
    return st == SLUICE_OK ? kept_columns_find(columns->dataset, NULL, false, &columns->kept) : st;
}

sluice_status verify_columns_open(verify_columns *columns, const char *folder, bool always,
                                  const verify_reporter *reporter)
{
    bool more = false;
    sluice_status st = pack_fields_are_more(folder, &more);

    if (st == SLUICE_OK && (always || more)) {
        st = open_dataset(columns, folder);
    }
    if (st != SLUICE_OK && !sli_fault_is_of_process(sli_fault_of_last(st))) {
        sli_error error;

        sli_error_take(st, &error);
        reporter->report(reporter->arg, folder, error.text);
        verify_columns_close(columns);
        st = SLUICE_OK;
    }
    return st;
}

void verify_columns_close(verify_columns *columns)
{
    sluice_dataset_destroy(columns->dataset);
    columns->dataset = NULL;
}

sluice_status verify_columns_read(const verify_columns *columns, uint64_t sample, sample_io *io,
                                  image_buffer *rows, uint64_t *bytes)
{
    const sluice_dataset *dataset = columns->dataset;
    void *row[SLUICE_MAX_COLUMNS] = {NULL};
    sluice_status st = pack_values_begin(&columns->kept, rows, row);

    if (st == SLUICE_OK) {
        st = dataset_source(dataset)->read_plain(dataset->source, sample, io, row);
    }
    return st == SLUICE_OK ? pack_values_check_rows(&columns->kept, rows->data, bytes) : st;
}
