/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a RecordIO file of image records, and as a list beside such a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "fuzz_records.h"
#include "fuzz_target.h"
#include "recordio_file.h"
#include "recordio_format.h"
#include "recordio_list.h"

static const record_names names = {5, {"image", "label", "id", "id2", "record"}};

typedef struct input {
    const uint8_t *data;
    size_t size;
    uint64_t end; /* of the record before */
} input;

/* Each record lies behind the one before it, is measured as it was found, and joins in its place.
 */
static sluice_status check_record(void *arg, uint64_t offset, uint64_t size)
{
    input *in = arg;
    recordio_layout layout;
    recordio_image image;
    uint8_t *bytes;
    uint8_t *joined;

    if (offset != in->end || size == 0 || size > in->size - offset) {
        fuzz_fail("a record that is not behind the one before it");
    }
    in->end = offset + size;
    if (recordio_measure(in->data + offset, (size_t)size, &layout) != SLUICE_OK ||
        layout.size > size - RECORDIO_HEAD) {
        fuzz_fail("a record that was found has another length");
    }
    bytes = malloc((size_t)size);
    joined = malloc(layout.size + 1);
    if (bytes != NULL && joined != NULL) {
        memcpy(bytes, in->data + offset, (size_t)size);
        recordio_join(bytes, &layout, joined);
        recordio_join(bytes, &layout, bytes);
        if (memcmp(bytes, joined, layout.size) != 0) {
            fuzz_fail("a record that is joined in its place has other bytes");
        }
        if (recordio_image_parse(joined, layout.size, &image) == SLUICE_OK) {
            (void)recordio_label(&image, image.label_count - 1);
            if (image.image + image.image_size != joined + layout.size) {
                fuzz_fail("an image that does not end with its record");
            }
        }
    }
    free(bytes);
    free(joined);
    return SLUICE_OK;
}

static char folder[] = "/tmp/fuzz-recordio-XXXXXX";
static char link_path[64];

static void remove_link(void)
{
    (void)unlink(link_path);
    (void)rmdir(folder);
}

/* Reads the input of fuzz_file() as a list. */
static void read_list(void)
{
    recordio_list *list = NULL;
    const recordio_line *line = NULL;
    char records[64];

    if (link_path[0] == '\0') {
        if (mkdtemp(folder) == NULL) {
            fuzz_fail("no folder");
        }
        snprintf(link_path, sizeof(link_path), "%s/x.lst", folder);
        if (symlink(fuzz_file_path(), link_path) != 0 || atexit(remove_link) != 0) {
            fuzz_fail("no link");
        }
    }
    snprintf(records, sizeof(records), "%s/x.rec", folder);
    if (recordio_list_create(records, &list) != SLUICE_OK) {
        return;
    }
    for (uint64_t id = 0; id < 4; id++) {
        if (recordio_list_find(list, id, &line) == SLUICE_OK && line != NULL &&
            (line->id != id || line->label_count == 0 || strlen(line->path) > INT32_MAX ||
             line->labels[line->label_count - 1] != line->labels[line->label_count - 1])) {
            fuzz_fail("a line that cannot be");
        }
    }
    recordio_list_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {.data = data, .size = size};

    if (recordio_scan(fuzz_file(data, size), size, check_record, &in) == SLUICE_OK &&
        in.end != size) {
        fuzz_fail("records that do not fill the file");
    }
    read_list();
    (void)fuzz_records(&record_recordio, data, size, &names);
    return 0;
}
