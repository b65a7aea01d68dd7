/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a JPEG 2000 file: in colour and in gray. The library that decodes them is not
 * instrumented: the target tests our glue over it, not the library.
 */
#include <string.h>

#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_box box;
    image_view region;

    if (size >= 12 && (memcmp(data + 4, "jP  ", 4) == 0 || data[0] == 0xFF)) {
        (void)fuzz_region(data, size, false, &box, &region);
        (void)fuzz_region(data, size, true, &box, &region);
    }
    return 0;
}
