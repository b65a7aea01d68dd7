/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an IDX file, plain or compressed. */
#include <string.h>

#include "fuzz_file.h"
#include "fuzz_target.h"
#include "idx_file.h"

static void check_header(const idx_header *header)
{
    uint64_t bytes = 1;

    if (header->rank == 0 || header->rank > IDX_MAX_RANK || header->row_bytes == 0) {
        fuzz_fail("a header that cannot be");
    }
    for (uint32_t i = 0; i < header->rank; i++) {
        bytes *= header->shape[i];
    }
    if (bytes != header->data_bytes || header->data_at != 4 + 4 * (uint64_t)header->rank) {
        fuzz_fail("sizes that do not follow from the dimensions");
    }
}

/* Reads the last row, which ends where the file does. */
static void read_last(const idx_file *file)
{
    static uint8_t row[1 << 16];
    const idx_header *header = &file->header;
    const uint64_t last = header->shape[0] - 1;

    if (header->shape[0] == 0 || header->row_bytes > sizeof(row)) {
        return;
    }
    if (idx_file_rows(file) != NULL) {
        memcpy(row, idx_file_rows(file) + last * header->row_bytes, header->row_bytes);
    } else if (idx_file_read(file, last, row) != SLUICE_OK) {
        fuzz_fail("a row that cannot be read");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    idx_header header;
    idx_file file;

    if (idx_header_parse(data, size, &header) == SLUICE_OK) {
        check_header(&header);
    }
    fuzz_file(data, size);
    for (int load = 0; load < 2; load++) {
        if (idx_file_open(fuzz_file_path(), load != 0, &file) == SLUICE_OK) {
            check_header(&file.header);
            read_last(&file);
            idx_file_close(&file);
        }
    }
    return 0;
}
