/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a PNG file, and again with the checksums that a fuzzer cannot guess. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "png_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    image_box box;
    image_view region;

    if (copy == NULL) {
        return 0;
    }
    (void)fuzz_region(data, size, false, &box, &region);
    memcpy(copy, data, size);
    png_seal(copy, size);
    (void)fuzz_region(copy, size, false, &box, &region);
    (void)fuzz_region(copy, size, true, &box, &region);
    free(copy);
    return 0;
}
