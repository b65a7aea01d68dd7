/* SPDX-License-Identifier: Apache-2.0 */
#include "opened_image.h"

#include "status_int.h"

sluice_status opened_image_check(sample_loader *loader, const decode_args *decode)
{
    image_facts facts;

    image_decoder_describe(loader->decoder, &facts);
    if (facts.bits > 8 && decode->depth == 0) {
        loader->io.ends_run = true;
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the %s file has %u bits per channel, and images of a batch have 8; "
                        "decode depth=8 converts them, which drops the lower bits",
                        facts.format, facts.bits);
    }
    return SLUICE_OK;
}
