/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a TIFF file: in colour and in gray. The library that decodes them is not
 * instrumented: the target tests our glue over it, not the library.
 */
#include <string.h>

#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_box box;
    image_view region;

    if (size >= 4 && (memcmp(data, "II", 2) == 0 || memcmp(data, "MM", 2) == 0)) {
        (void)fuzz_region(data, size, false, &box, &region);
        (void)fuzz_region(data, size, true, &box, &region);
    }
    return 0;
}
