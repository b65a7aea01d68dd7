/* SPDX-License-Identifier: Apache-2.0 */
#include "image_steps.h"

/* Most pixels of an image between two geometry groups. */
enum { MOST_PIXELS = 1 << 28 };

sluice_status fail_image_size(const sli_plan *plan, const sli_conversion *want,
                              const fused_geometry *window, uint32_t channels)
{
    const char *first = plan->dataset->sized_by;
    char advice[200];

    dataset_advise_size(plan->dataset, advice, sizeof(advice));
    return sli_fail(SLUICE_E_INVALID, "the image is %ux%ux%u where the batch has %ux%ux%u%s%s; %s",
                    window->window_width, window->window_height, channels, want->width,
                    want->height, want->channels, first[0] != '\0' ? ", as " : "", first, advice);
}

sluice_status fail_lost_value(const sli_conversion *conversion, float value)
{
    return sli_fail(
        SLUICE_E_CORRUPT,
        "the value %g of the image cannot be represented as %s after its conversion; %s",
        (double)value, sluice_dtype_name(conversion->to),
        conversion->to == SLUICE_F32 ? "is a std too small?"
                                     : "choose dtype=f32, or normalize with a std that "
                                       "makes it smaller");
}

/* Fails since the image after a step has too many pixels. A step without geometry has colour stages
 * after it. */
static sluice_status fail_too_large(sample_loader *loader, const transform_step *step)
{
    const struct plan_details *details = loader->plan->details;
    const plan_group *group = step->group;
    const fused_geometry *window = &step->window;
    const dataset_stage *last =
        group->count > 0 ? details->geometry.stages[group->first + group->count - 1].stage
                         : details->colors.stages[group->color_first].stage;

    loader->last.stage = last->def->name;
    if (group->count == 0 || last->def->flip != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "the image is %ux%u, and may have %d pixels where %s come before a crop or "
                        "resize; put a resize before %s",
                        window->window_width, window->window_height, MOST_PIXELS,
                        group->count == 0 ? "colours" : "flips", loader->last.stage);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the image would be %ux%u before the next resize, and may have %d pixels; "
                    "put a resize before the stage that enlarges it",
                    window->window_width, window->window_height, MOST_PIXELS);
}

sluice_status check_step_size(sample_loader *loader, const transform_step *step)
{
    return (uint64_t)step->window.window_width * step->window.window_height > MOST_PIXELS
               ? fail_too_large(loader, step)
               : SLUICE_OK;
}

sluice_status choose_image(sample_loader *loader, uint32_t number, const image_view *pixels,
                           image_lines *image, line_sink *sink)
{
    const fused_geometry *window = &loader->drawn.steps[number].window;
    image_buffer *between = &loader->tools.between[number % 2];
    const size_t line = window->window_width * image_pixel_bytes(pixels);
    sluice_status st = check_step_size(loader, &loader->drawn.steps[number]);

    if (st == SLUICE_OK) {
        st = image_buffer_reserve(between, line * window->window_height);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    *sink = (line_sink){NULL, NULL, between->data};
    if (loader->drawn.steps[number].lines != NULL) {
        *image = (image_lines){between->data, line, line};
        *sink = (line_sink){copy_line, image, NULL};
        return colors_start(&loader->tools.colors, loader->drawn.steps[number].lines,
                            pixels->channels, sink);
    }
    return SLUICE_OK;
}
