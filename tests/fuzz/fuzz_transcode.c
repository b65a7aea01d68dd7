/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JPEG file: a copy, if there is one, decodes to the same pixels. */
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "fuzz_target.h"
#include "jpeg_maker.h"
#include "jpeg_transcode.h"

/* More would take a fuzzer's time. */
enum { MOST_PIXELS = 1 << 20 };

static void compare(const uint8_t *data, size_t size, const jpeg_bytes *copy, J_COLOR_SPACE out)
{
    jpeg_plain was = jpeg_plain_decode(data, size, out);
    jpeg_plain is = jpeg_plain_decode(copy->data, copy->size, out);

    /* What libjpeg cannot decode, as colours of unknown kinds, has no pixels to compare. */
    if (was.pixels != NULL &&
        (is.pixels == NULL || is.warnings != 0 || was.width != is.width ||
         was.height != is.height || was.channels != is.channels ||
         memcmp(was.pixels, is.pixels, (size_t)was.width * was.height * was.channels) != 0)) {
        fuzz_fail("a copy with other pixels");
    }
    free(was.pixels);
    free(is.pixels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint32_t interval = size > 0 ? (uint32_t)data[size - 1] % 3 * 16 : 0;
    sluice_pack_fate fate;
    jpeg_bytes copy;
    char why[200];

    if (jpeg_transcode(data, size, interval, MOST_PIXELS, &copy, &fate, why, sizeof(why)) !=
        SLUICE_OK) {
        return 0; /* no memory */
    }
    if (fate == SLUICE_PACK_TRANSCODED) {
        compare(data, size, &copy, JCS_RGB);
        compare(data, size, &copy, JCS_GRAYSCALE);
        sli_free(copy.data);
    }
    return 0;
}
