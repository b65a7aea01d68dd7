/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "sample_writer.h"

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

void sample_writer_names(char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < WRITERS && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? ", " : "", writers[i]->format);
    }
}
