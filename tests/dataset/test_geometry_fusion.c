/* SPDX-License-Identifier: Apache-2.0 */
/* What the planner makes of several crops and resizes is what one after the other would give. */
#include <stdlib.h>

#include "jpeg_maker.h"
#include "picture_kit.h"
#include "sample_loader.h"
#include "testing.h"

/* ---- plain geometry -------------------------------------------------------------------------- */

/* The position in a line of `length` pixels that is shown at position i; -1: the fill. */
static int64_t shown_at(int64_t i, int64_t length, image_edge edge)
{
    while ((i < 0 || i >= length) && edge > EDGE_REPEAT) {
        const int64_t skipped = edge == EDGE_SYMMETRIC ? 1 : 0;

        i = i < 0 ? -i - skipped : 2 * (length - 1) + skipped - i;
    }
    if (edge == EDGE_REPEAT) {
        return i < 0 ? 0 : i >= length ? length - 1 : i;
    }
    return i >= 0 && i < length ? i : -1;
}

/* A box of the picture, padded where it reaches beyond; frees the picture. */
static picture cropped(picture in, const stage_window *g, const stage_padding *padding)
{
    picture out = picture_zero(g->width, g->height, in.channels);

    for (uint32_t y = 0; y < g->height; y++) {
        for (uint32_t x = 0; x < g->width; x++) {
            const int64_t from_x = shown_at(g->x + x, in.width, padding->edge);
            const int64_t from_y = shown_at(g->y + y, in.height, padding->edge);
            const uint8_t *from =
                from_x < 0 || from_y < 0
                    ? padding->fill
                    : in.pixels + ((size_t)from_y * in.width + (size_t)from_x) * in.channels;

            memcpy(out.pixels + ((size_t)y * g->width + x) * in.channels, from, in.channels);
        }
    }
    free(in.pixels);
    return out;
}

/* The whole picture resized; frees it. */
static picture resized(picture in, const stage_window *g)
{
    const uint32_t width = g->new_width;
    const uint32_t height = g->new_height;
    const resample_job job = {.channels = in.channels,
                              .in_width = in.width,
                              .in_height = in.height,
                              .out_width = width,
                              .out_height = height,
                              .window_width = width,
                              .window_height = height,
                              .filter = g->filter};
    picture out = picture_zero(width, height, in.channels);
    const line_sink sink = {NULL, NULL, out.pixels};
    image_resampler resampler = {0};
    image_box needed;
    image_view view;

    T_OK(resample_prepare(&resampler, &job, &needed));
    view = (image_view){in.pixels + ((size_t)needed.y * in.width + needed.x) * in.channels,
                        (size_t)in.width * in.channels,
                        needed.width,
                        needed.height,
                        in.channels,
                        IMAGE_U8};
    T_OK(resample_run(&resampler, &view, &sink));
    resampler_free(&resampler);
    free(in.pixels);
    return out;
}

/* ---- pipelines ------------------------------------------------------------------------------- */

enum { SEED = 42 };

typedef struct pipeline {
    sluice_dataset *dataset;
    sli_plan *plan;
    sample_loader loader;
    sli_counters counters[PLAN_PROFILED];
} pipeline;

static pipeline *pipeline_open(const char *text)
{
    const sli_run_settings settings = {.seed = SEED, .rank = 0, .world = 1};
    pipeline *p = NULL;

    if (posix_memalign((void **)&p, 64, sizeof(*p)) != 0) {
        exit(2);
    }
    memset(p, 0, sizeof(*p));
    T_OK(sluice_dataset_parse(text, &p->dataset));
    T_OK(sli_plan_open(p->dataset, &settings, &p->plan));
    T_OK(sample_loader_init(&p->loader, p->plan));
    for (int i = 0; i < PLAN_PROFILED; i++) {
        p->loader.report.counters[i] = &p->counters[i];
    }
    return p;
}

static void pipeline_close(pipeline *p)
{
    sample_loader_fini(&p->loader);
    sli_plan_close(p->plan);
    sluice_dataset_destroy(p->dataset);
    free(p);
}

/* The image of a sample, as it lies in the batch. */
static picture pipeline_run(pipeline *p, uint64_t sample, uint64_t pass)
{
    const uint64_t *shape = p->plan->wire[p->plan->image_column].shape;
    picture out = picture_zero((uint32_t)shape[1], (uint32_t)shape[0], (uint32_t)shape[2]);
    uint8_t flags = 0;
    int32_t label = 0;
    sample_row row = {.flags = &flags};

    row.columns[p->plan->image_column] = out.pixels;
    row.columns[p->plan->label_column] = &label;
    memset(out.pixels, 0x55, picture_size(&out));
    T_OK(sample_load(&p->loader, sample, pass, &row));
    return out;
}

/* The pipeline's geometry stages, each done on the whole of what the one before gave. */
static picture one_by_one(const pipeline *p, picture image, uint64_t sample, uint64_t pass)
{
    for (uint32_t i = 0; i < p->dataset->stage_count; i++) {
        const dataset_stage *stage = &p->dataset->stages[i];
        const sli_draws draws = {plan_stage_key(p->dataset, i, SEED), sample, pass};
        stage_padding padding = {0};
        stage_window g = {0};

        if (stage->def->kind != STAGE_GEOMETRY) {
            continue;
        }
        if (stage->def->geometry->padding != NULL) {
            (void)stage->def->geometry->padding(stage->args.bytes, &padding);
        }
        T_OK(stage->def->geometry->draw(stage->args.bytes, &draws, image.width, image.height, &g));
        if (g.crops) {
            image = cropped(image, &g, &padding);
        }
        if (g.resizes) {
            image = resized(image, &g);
        }
    }
    return image;
}

static void check_pipeline(pipeline *p, const char *text, picture image, uint64_t sample,
                           uint64_t pass)
{
    picture want = one_by_one(p, image, sample, pass);
    picture got = pipeline_run(p, sample, pass);

    T_EQ(got.width, want.width);
    T_EQ(got.height, want.height);
    for (size_t i = 0; i < picture_size(&want); i++) {
        if (got.pixels[i] != want.pixels[i]) {
            T_FAIL_("%s: sample %llu pass %llu: byte %zu is %u, want %u", text,
                    (unsigned long long)sample, (unsigned long long)pass, i, got.pixels[i],
                    want.pixels[i]);
        }
    }
    free(got.pixels);
    free(want.pixels);
}

/* ---- random pipelines ------------------------------------------------------------------------ */

typedef struct writer {
    char text[600];
    uint32_t width; /* of the image so far */
    uint32_t height;
} writer;

static const char *const edges[] = {"constant", "edge", "reflect", "symmetric"};

/* Adds a random stage of geometry and keeps track of the size. */
static void add_stage(writer *w, uint32_t *state)
{
    uint32_t height = 1 + test_below(state, 40);
    uint32_t width = 1 + test_below(state, 40);
    uint32_t padding = test_below(state, 6);
    uint32_t kind = test_below(state, 8);
    uint32_t mode;
    size_t used = strlen(w->text);
    char *to = w->text + used;
    size_t room = sizeof(w->text) - used;

    switch (kind) {
    case 0:
        snprintf(to, room, " | resize %u,%u", height, width);
        break;
    case 1:
        snprintf(to, room, " | resize %u", height);
        width = w->width <= w->height ? height : w->width * height / w->height;
        height = w->width <= w->height ? w->height * height / w->width : height;
        break;
    case 2:
        snprintf(to, room, " | random_resized_crop %u,%u", height, width);
        break;
    case 5:
        snprintf(to, room, " | center_crop %u,%u", height, width);
        break;
    case 6: /* often with the padding of crops, so that they are fused */
        mode = test_below(state, 8);
        mode = mode > EDGE_SYMMETRIC || w->width < 6 || w->height < 6 ? EDGE_CONSTANT : mode;
        snprintf(to, room, " | pad_image %u,%u fill=%s mode=%s", padding, padding / 2,
                 test_below(state, 2) == 0 ? "0" : "200", edges[mode]);
        width = w->width + 2 * padding;
        height = w->height + 2 * (padding / 2);
        break;
    default:
        height = 1 + test_below(state, w->height + 2 * padding);
        width = 1 + test_below(state, w->width + 2 * padding);
        snprintf(to, room, " | random_crop %u,%u padding=%u", height, width, padding);
    }
    if (kind <= 2) {
        const uint32_t filter = test_below(state, FILTERS);

        snprintf(to + strlen(to), room - strlen(to), " filter=%s antialias=%s",
                 resize_filter_names[filter],
                 filter == FILTER_AREA || test_below(state, 2) == 0 ? "true" : "false");
    }
    w->width = width;
    w->height = height;
}

static void fused_stages_give_what_single_ones_do(void)
{
    uint32_t state = 2024;

    for (int i = 0; i < 600; i++) {
        uint32_t stages = 1 + test_below(&state, 4);
        uint32_t channels = test_below(&state, 4) == 0 ? 1 : 3;
        writer w = {.width = 1 + test_below(&state, 50), .height = 1 + test_below(&state, 50)};
        pipeline *plain;
        pipeline *fused;

        snprintf(w.text, sizeof(w.text), "synthetic 100 shape=%u,%u,%u", w.height, w.width,
                 channels);
        strcat(w.text, " | batch 1");
        plain = pipeline_open(w.text);
        *strstr(w.text, " | batch") = '\0';
        for (uint32_t k = 0; k < stages; k++) {
            add_stage(&w, &state);
        }
        strcat(w.text, " | batch 1");
        fused = pipeline_open(w.text);
        for (uint64_t k = 0; k < 3; k++) {
            check_pipeline(fused, w.text, pipeline_run(plain, k, 0), k, k / 2);
        }
        pipeline_close(plain);
        pipeline_close(fused);
    }
}

/* The same from files of several sizes: what is not needed is not decoded. */
static void fused_stages_decode_what_they_need(void)
{
    static const char *const stages[] = {
        "random_resized_crop 24,30",
        "random_resized_crop 24,30 filter=bicubic",
        "random_resized_crop 10 filter=bicubic antialias=false | center_crop 6",
        "random_resized_crop 24,30 filter=nearest",
        "resize 13,70 filter=area",
        "center_crop 40",
        "random_crop 30,20 padding=30",
        "resize 20 | center_crop 16",
        "random_crop 70,99 1,2,3,4 pad_if_needed=true fill=9 | resize 40,41",
        "resize 33 | random_crop 28",
        "resize 20 max_size=22 | random_crop 12,30 pad_if_needed=true",
        "center_crop 9,70 | resize 20,21",
        "center_crop 30 | random_crop 36 padding=4",
        "random_resized_crop 30 | random_crop 32 padding=4 | resize 11,12",
        "random_crop 60 padding=30 | random_resized_crop 20",
        "resize 40 | resize 30 | center_crop 30",
        "pad_image 9,8,7,6 fill=1,2,3 | random_crop 20 | pad_image 2 fill=1,2,3 | resize 17,15",
        "center_crop 20 | pad_image 9,5,19,0 mode=reflect | random_crop 22,14",
        "random_zoom_out 9,8,7 | random_resized_crop 24 filter=bicubic",
        "pad_image 30 mode=edge | random_crop 31",
        "random_crop 29 | pad_image 20 mode=symmetric | pad_image 1 mode=edge | resize 9,8",
    };
    static const uint8_t samplings[] = {0x11, 0x22, 0x21, 0x12};
    const char *folder = t_folder();
    picture files[12];

    for (uint32_t i = 0; i < 12; i++) {
        const jpeg_recipe recipe = {.width = 33 + i * 17 % 60,
                                    .height = 30 + i * 29 % 50,
                                    .sampling = {samplings[i % 4]},
                                    .progressive = i % 5 == 4,
                                    .seed = i};
        char name[40];
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&recipe, &size);
        jpeg_plain plain = jpeg_plain_decode(bytes, size, JCS_RGB);

        snprintf(name, sizeof(name), "class/%02u.jpg", i);
        t_write_file(t_path(folder, name), bytes, size);
        files[i] = picture_zero(plain.width, plain.height, 3);
        memcpy(files[i].pixels, plain.pixels, picture_size(&files[i]));
        free(plain.pixels);
        free(bytes);
    }
    for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); s++) {
        char text[700];
        pipeline *p;

        snprintf(text, sizeof(text), "image_folder '%s' | decode | %s | batch 1", folder,
                 stages[s]);
        p = pipeline_open(text);
        for (uint32_t i = 0; i < 36; i++) {
            picture copy = picture_zero(files[i % 12].width, files[i % 12].height, 3);

            memcpy(copy.pixels, files[i % 12].pixels, picture_size(&copy));
            check_pipeline(p, text, copy, i % 12, i / 12);
        }
        pipeline_close(p);
    }
    for (uint32_t i = 0; i < 12; i++) {
        free(files[i].pixels);
    }
}

const t_test geometry_fusion_tests[] = {
    T_TEST(fused_stages_give_what_single_ones_do),
    T_TEST(fused_stages_decode_what_they_need),
    T_END,
};
