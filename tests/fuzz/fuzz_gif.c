/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a GIF file: in colour and in gray. */
#include <string.h>

#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_box box;
    image_view region;

    if (size >= 4 && memcmp(data, "GIF8", 4) == 0) {
        (void)fuzz_region(data, size, false, &box, &region);
        (void)fuzz_region(data, size, true, &box, &region);
    }
    return 0;
}
