/* SPDX-License-Identifier: Apache-2.0 */
#include "image_tools.h"

sluice_status image_tools_init(image_tools *tools, const sli_plan *plan)
{
    const sluice_status st = colors_init(&tools->colors, plan);

    return st == SLUICE_OK && plan->details->geometry.decode != NULL
               ? image_decoder_create(&tools->decoder)
               : st;
}

void image_tools_share(image_tools *tools, const image_view *image)
{
    for (int i = 0; i < 2; i++) {
        if (image->pixels == tools->between[i].data) {
            const image_buffer shared = tools->shared;

            tools->shared = tools->between[i];
            tools->between[i] = shared;
        }
    }
}

void image_tools_free(image_tools *tools)
{
    image_decoder_destroy(tools->decoder);
    resampler_free(&tools->resampler);
    colors_free(&tools->colors);
    image_buffer_free(&tools->between[0]);
    image_buffer_free(&tools->between[1]);
    image_buffer_free(&tools->turned);
    image_buffer_free(&tools->upright);
    image_buffer_free(&tools->shared);
}
