/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "sample_writer.h"
#include "status_int.h"

static const sample_writer *const writers[] = {&web_writer, &tfrecord_writer,
                                               &mindrecord_samples_writer, &npy_samples_writer};

enum { WRITERS = sizeof(writers) / sizeof(writers[0]) };

const sample_writer *sample_writer_find(const char *format)
{
    for (size_t i = 0; i < WRITERS; i++) {
        if (strcmp(writers[i]->format, format) == 0) {
            return writers[i];
        }
    }
    return NULL;
}

sluice_status sample_writer_check(const sample_writer *writer, const kept_columns *kept)
{
    sluice_status st = writer->check_build != NULL ? writer->check_build() : SLUICE_OK;

    for (uint32_t i = 0; i < kept->count && st == SLUICE_OK; i++) {
        const char *why = writer->find_obstacle(kept, i);
        const char *name = kept->columns[i].type.name;

        if (why != NULL) {
            st = sli_fail(SLUICE_E_UNSUPPORTED,
                          "%s cannot have the column %s: %s; --drop %s leaves it out%s",
                          writer->format, name, why, name,
                          writer != &web_writer ? ", and --format webdataset keeps it" : "");
        }
    }
    return st;
}

void sample_writer_names(char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < WRITERS && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? ", " : "", writers[i]->format);
    }
}
