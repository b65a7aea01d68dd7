/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the beginning of a .npy file. */
#include "fuzz_target.h"
#include "npy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    npy_header header;

    if (npy_header_parse(data, size, &header) == SLUICE_OK) {
        uint64_t bytes = sluice_dtype_size(header.dtype);

        if (header.data_at > size || header.rank == 0 || header.rank > SLUICE_MAX_RANK + 1) {
            fuzz_fail("a header that cannot be");
        }
        for (uint32_t i = 0; i < header.rank; i++) {
            bytes *= header.shape[i];
        }
        if (bytes != header.data_bytes || header.row_bytes == 0) {
            fuzz_fail("sizes that do not follow from the shape");
        }
    }
    return 0;
}
