/* SPDX-License-Identifier: Apache-2.0 */
#include "described_sample.h"

#include "exif.h"
#include "sample_draw.h"
#include "sample_flips.h"
#include "text_int.h"

/* Adds the affine part of a matrix, as the stage warp_affine has it; -0 is 0. */
static void add_matrix(const warp_matrix *matrix, sli_text *text)
{
    for (int i = 0; i < 6; i++) {
        sli_text_add(text, "%s%g", i > 0 ? ", " : "(", matrix->m[i] + 0.0);
    }
    sli_text_add(text, ")");
}

/* ---- windows --------------------------------------------------------------------------------- */

static void describe_margins(const image_margins *m, sli_text *text)
{
    if (m->left != 0 || m->top != 0 || m->right != 0 || m->bottom != 0) {
        sli_text_add(text, ", padded by %u,%u,%u,%u (left, top, right, bottom)", m->left, m->top,
                     m->right, m->bottom);
    }
}

/* Describes a window of an image of this size. */
static void describe_window(const fused_geometry *g, uint32_t width, uint32_t height,
                            sli_text *text)
{
    const bool is_cropped = g->width != width || g->height != height;
    const bool is_resized =
        g->new_width != fused_full_width(g) || g->new_height != fused_full_height(g);

    if (g->turns) {
        sli_text_add(text, "%ux%u warped to %ux%u by ", width, height, g->window_width,
                     g->window_height);
        add_matrix(&g->turn.matrix, text);
        return;
    }
    if (is_cropped) {
        sli_text_add(text, "%ux%u at (%lld, %lld) of ", g->width, g->height, (long long)g->x,
                     (long long)g->y);
    }
    sli_text_add(text, "%ux%u", width, height);
    describe_margins(&g->margins, text);
    if (is_resized) {
        sli_text_add(text, ", resized to %ux%u", g->new_width, g->new_height);
    }
    if (g->window_x != 0 || g->window_y != 0 || g->window_width != g->new_width ||
        g->window_height != g->new_height) {
        sli_text_add(text, ", %ux%u of it at (%lld, %lld)", g->window_width, g->window_height,
                     (long long)g->window_x, (long long)g->window_y);
    }
}

static void name_stages(const struct plan_details *details, const plan_group *group, sli_text *text)
{
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        sli_text_add(text, "%s%s", i == group->first ? "" : " + ",
                     details->geometry.stages[i].stage->def->name);
    }
    sli_text_add(text, "%s", group->map != NULL ? group->map->name : "");
    sli_text_add(text, "%s", group->count > 0 || group->map != NULL ? ": " : "");
}

/* ---- operations ------------------------------------------------------------------------------ */

static void describe_operation(const color_operation *o, sli_text *text)
{
    static const char *const names[] = {
        [COLOR_TABLE] = "table",
        [COLOR_SATURATION] = "saturation",
        [COLOR_HUE] = "hue",
        [COLOR_GRAY] = "gray",
        [COLOR_TWIST] = "matrix",
        [COLOR_HSV] = "HSV",
        [COLOR_ERASE] = "erased",
        [COLOR_NOISE] = "noise",
        [COLOR_BITS] = "bits",
        [COLOR_SOLARIZE] = "inverted from",
        [COLOR_BRIGHTNESS] = "brightness",
        [COLOR_CONTRAST] = "contrast",
        [COLOR_AUTOCONTRAST] = "contrast of the whole range",
        [COLOR_EQUALIZE] = "equalized",
        [COLOR_WARP] = "warped by",
        [COLOR_BLUR] = "blurred",
        [COLOR_SHARPEN] = "sharpness",
        [COLOR_JPEG] = "JPEG of quality",
        [COLOR_MIX] = "mixed with copies",
    };

    sli_text_add(text, "%s", names[o->kind]);
    switch (o->kind) {
    case COLOR_SATURATION:
    case COLOR_HUE:
    case COLOR_SOLARIZE:
    case COLOR_BRIGHTNESS:
    case COLOR_CONTRAST:
    case COLOR_SHARPEN:
        sli_text_add(text, " %g", (double)o->factor);
        break;
    case COLOR_HSV:
        sli_text_add(text, " by a hue of %g, a saturation of %g and a value of %g",
                     (double)o->hsv.hue, (double)o->hsv.saturation, (double)o->hsv.value);
        break;
    case COLOR_JPEG:
        sli_text_add(text, " %u", o->jpeg.quality);
        break;
    case COLOR_BITS:
        sli_text_add(text, " (v & %u) ^ %u", o->keep, o->flip);
        break;
    case COLOR_ERASE:
        sli_text_add(text, " %ux%u at (%u, %u)", o->erased.width, o->erased.height, o->erased.x,
                     o->erased.y);
        break;
    case COLOR_WARP:
        sli_text_add(text, " ");
        add_matrix(&o->warp.matrix, text);
        sli_text_add(text, "%s", o->warp.shifts != NULL ? " and displacements" : "");
        break;
    default:
        break;
    }
}

/* Describes what colour stages [first, end) have drawn, each by itself. */
static void describe_colors(sample_loader *loader, uint32_t first, uint32_t end, uint32_t step,
                            const char *head, const image_draws *draws, sli_text *text)
{
    const struct plan_details *details = loader->plan->details;
    const char *between = head;

    for (uint32_t i = first; i < end; i++) {
        const color_chain *chain =
            colors_draw_one(&loader->tools.colors, loader->plan, i, step, draws);

        for (uint32_t k = 0; k < chain->count; k++) {
            if (k == 0) {
                sli_text_add(text, "%s%s: ", between, details->colors.stages[i].stage->def->name);
                between = "; ";
            }
            sli_text_add(text, "%s", k > 0 ? ", " : "");
            describe_operation(&chain->operations[k], text);
        }
    }
    sli_text_add(text, "%s", between != head ? "\n" : "");
}

/* ---- the sample ------------------------------------------------------------------------------ */

static void describe_step(sample_loader *loader, uint32_t number, uint32_t width, uint32_t height,
                          const image_draws *draws, sli_text *text)
{
    const struct plan_details *details = loader->plan->details;
    const transform_step *step = &loader->drawn.steps[number];
    const plan_group *group = step->group;
    const uint32_t end = group->color_end < details->colors.host_count ? group->color_end
                                                                       : details->colors.host_count;

    sli_text_add(text, "step %u: ", number);
    name_stages(details, group, text);
    describe_window(&step->window, width, height, text);
    sli_text_add(text, "\n");
    if (step->lines != NULL) {
        describe_colors(loader, group->color_first, end, number, "  ", draws, text);
    }
}

/* The size of an image between two steps. */
typedef struct step_size {
    uint32_t width;
    uint32_t height;
} step_size;

/* Describes steps [first, end). *size: of the image before them, and then after them. */
static void describe_steps(sample_loader *loader, uint32_t first, uint32_t end,
                           const image_draws *draws, step_size *size, sli_text *text)
{
    for (uint32_t i = first; i < end; i++) {
        const fused_geometry window = loader->drawn.steps[i].window;

        describe_step(loader, i, size->width, size->height, draws, text);
        *size = (step_size){window.window_width, window.window_height};
    }
}

/* Describes flips, as row flags. */
static void describe_flips(uint8_t flips, sli_text *text)
{
    if ((flips & SLI_ROW_FLIP) != 0) {
        sli_text_add(text, "flip: left to right\n");
    }
    if ((flips & SLI_ROW_FLIP_LINES) != 0) {
        sli_text_add(text, "flip: upside down\n");
    }
}

/* Draws each view again, and describes it. `size`: of the image that the views are made of. */
static sluice_status describe_views(sample_loader *loader, const image_draws *draws, step_size size,
                                    sli_text *text)
{
    const struct plan_details *details = loader->plan->details;
    const plan_list *list = &details->geometry.list;
    sample_transform *transform = &loader->drawn.image;
    sluice_status st = SLUICE_OK;

    for (uint32_t view = 0; view < details->geometry.view_count && st == SLUICE_OK; view++) {
        const image_draws own = draws_of_view(details, draws, view);
        step_size current = size;
        uint8_t flips;
        uint8_t on_device;

        transform->step_count = transform->shared_steps;
        st = draw_groups(loader, transform, list, list->shared, list->count, &own, size.width,
                         size.height);
        if (st == SLUICE_OK) {
            sli_text_add(text, "view %u:\n", view);
            describe_steps(loader, transform->shared_steps, transform->step_count, &own, &current,
                           text);
            draw_flips(details, 0, own.sample, own.pass, &flips, &on_device);
            describe_flips(flips ^ own.flips, text);
        }
    }
    return st;
}

/* Adds the Exif orientation that was applied to the image. */
static void describe_file(const sample_transform *transform, sli_text *text)
{
    const bool exchanges = exif_exchanges_sides(transform->applied.image);

    if (transform->applied.image != EXIF_UPRIGHT) {
        sli_text_add(text, "file: %ux%u, Exif orientation %u applied: %ux%u\n",
                     exchanges ? transform->height : transform->width,
                     exchanges ? transform->width : transform->height, transform->applied.image,
                     transform->width, transform->height);
    }
    if (transform->applied.labels != EXIF_UPRIGHT) {
        sli_text_add(text, "labels: for the image as stored, and follow it\n");
    }
}

sluice_status describe_sample(sample_loader *loader, uint64_t sample, uint64_t pass, sli_text *text)
{
    const struct plan_details *details = loader->plan->details;
    const sample_transform *transform = &loader->drawn.image;
    const image_draws draws = {sample, pass, (uint32_t)details->images.first, 0, 0};
    step_size size = {transform->width, transform->height};

    if (details->images.first < 0) {
        return SLUICE_OK;
    }
    describe_file(transform, text);
    if (details->geometry.view_count > 1) {
        describe_steps(loader, 0, transform->shared_steps, &draws, &size, text);
        return describe_views(loader, &draws, size, text);
    }
    describe_steps(loader, 0, transform->step_count, &draws, &size, text);
    if (details->colors.host_count < details->colors.count) {
        describe_colors(loader, details->colors.host_count, details->colors.count, 0,
                        "device: ", &draws, text);
    }
    describe_flips(transform->flips, text);
    return SLUICE_OK;
}
