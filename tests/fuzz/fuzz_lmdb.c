/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an LMDB file whose values are Datums. */
#include <stdlib.h>

#include "datum.h"
#include "fuzz_file.h"
#include "fuzz_target.h"
#include "lmdb_pages.h"

typedef struct input {
    const uint8_t *data;
    size_t size;
    uint32_t page_size;
    uint64_t count;
} input;

static void read_datum(const uint8_t *bytes, size_t size)
{
    datum image;
    uint8_t *to;

    if (datum_parse(bytes, size, &image) != SLUICE_OK) {
        return;
    }
    to = malloc(image.data_size + 4 * image.float_count + 1);
    if (to == NULL) {
        return;
    }
    if (datum_check_pixels(&image) == SLUICE_OK) {
        datum_pixels(&image, true, to);
    }
    datum_floats(bytes, size, to);
    free(to);
}

static sluice_status check_value(void *arg, const uint8_t *key, size_t key_size, uint64_t offset,
                                 uint64_t size, bool is_overflow)
{
    input *in = arg;

    (void)key;
    if (offset > in->size || size > in->size - offset || key_size >= in->page_size ||
        (is_overflow && offset % in->page_size != LMDB_PAGE_HEAD)) {
        fuzz_fail("a value outside of the file");
    }
    if (is_overflow) {
        (void)lmdb_check_overflow(in->page_size, offset - LMDB_PAGE_HEAD,
                                  in->data + offset - LMDB_PAGE_HEAD, size);
    }
    read_datum(in->data + offset, (size_t)size);
    in->count++;
    return SLUICE_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = fuzz_file(data, size);
    input in = {.data = data, .size = size};
    lmdb_file file;
    lmdb_passed passed;

    if (lmdb_open(fd, size, &file) == SLUICE_OK) {
        in.page_size = file.page_size;
        if (lmdb_walk(fd, &file, check_value, &in, &passed) == SLUICE_OK && passed.lists == 0 &&
            in.count + passed.databases != file.entries && file.root != LMDB_NO_PAGE) {
            fuzz_fail("other values than the meta page has");
        }
    }
    read_datum(data, size);
    return 0;
}
