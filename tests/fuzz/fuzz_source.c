/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the file of any source that reads one, by the public calls. The first line of an
 * input is the source and its other arguments, such as `tokens seq=4`; the rest is the file.
 */
#include <stdio.h>
#include <string.h>

#include <sluice/dataset.h>
#include <sluice/log.h>
#include <sluice/reader.h>

#include "fuzz_file.h"
#include "fuzz_target.h"

enum { MOST_LINE = 200, MOST_SAMPLES = 64 };

static volatile uint8_t used; /* all bytes are read */

static void read_view(const sluice_sample_view *view)
{
    uint8_t sum = 0;

    for (size_t i = 0; i < view->bytes; i++) {
        sum ^= ((const uint8_t *)view->data)[i];
    }
    used = sum;
}

static void read_sample(sluice_reader *reader, uint64_t sample)
{
    for (uint32_t i = 0; i < sluice_reader_columns(reader); i++) {
        sluice_sample_view view;
        sluice_image_info info;

        if (sluice_reader_get(reader, sample, i, &view) != SLUICE_OK) {
            if (sluice_last_error()[0] == '\0') {
                fuzz_fail("an error without a text");
            }
            continue;
        }
        read_view(&view);
        if (view.dtype == SLUICE_ENCODED) {
            sluice_image_info_init(&info);
            (void)!sluice_reader_header(reader, &info);
        }
    }
    (void)!sluice_reader_check(reader, sample);
}

/* Reads the first samples, and the last one. */
static void read_samples(sluice_dataset *dataset)
{
    sluice_reader *reader = NULL;
    uint64_t count;

    if (sluice_reader_create(dataset, &reader) != SLUICE_OK) {
        return;
    }
    count = sluice_reader_samples(reader);
    if (count == 0) {
        fuzz_fail("a source without samples");
    }
    for (uint64_t i = 0; i < count && i < MOST_SAMPLES; i++) {
        read_sample(reader, i);
    }
    read_sample(reader, count - 1);
    sluice_reader_destroy(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    const size_t length = end != NULL ? (size_t)(end - data) : size;
    char line[MOST_LINE + 1];
    char text[2 * MOST_LINE];
    size_t name;
    sluice_dataset *dataset = NULL;

    if (end == NULL || length > MOST_LINE) {
        return 0;
    }
    memcpy(line, data, length);
    line[length] = '\0';
    name = strspn(line, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (strlen(line) != length || strpbrk(line, "/|()#$'\"\\") != NULL) {
        return 0; /* other files, or more than a source */
    }
    sluice_log_set_level(SLUICE_LOG_OFF);
    (void)fuzz_file(end + 1, size - length - 1);
    snprintf(text, sizeof(text), "%.*s %s%s", (int)name, line, fuzz_file_path(), line + name);
    if (sluice_dataset_parse(text, &dataset) == SLUICE_OK) {
        read_samples(dataset);
        sluice_dataset_destroy(dataset);
    }
    return 0;
}
