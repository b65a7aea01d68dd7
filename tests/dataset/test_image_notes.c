/* SPDX-License-Identifier: Apache-2.0 */
/* Exif orientation, and other things that decoding leaves out: found, counted, logged once. */
#include <stdlib.h>

#include <sluice/reader.h>

#include "dataset_kit.h"
#include "exif.h"
#include "exif_maker.h"
#include "image_kit.h"
#include "image_notes_int.h"
#include "jpeg_maker.h"
#include "list_kit.h"
#include "log_kit.h"
#include "pack_kit.h"
#include "testing.h"
#ifdef SLI_HAVE_PNG
#include "png_maker.h"
#endif

/* ---- the tag --------------------------------------------------------------------------------- */

static void the_orientation_is_that_of_the_tag(void)
{
    uint8_t exif[EXIF_MADE];

    for (uint32_t value = 0; value <= 9; value++) {
        for (int big = 0; big < 2; big++) {
            exif_make(value, big == 1, exif);
            T_EQ(exif_orientation(exif, sizeof(exif)), value >= 1 && value <= 8 ? value : 1);
        }
    }
    T_TRUE(!exif_exchanges_sides(4) && exif_exchanges_sides(5) && exif_exchanges_sides(8));
}

/* Each length, and each byte changed: the answer is one of the eight, and no byte beyond is read.
 */
static void damaged_tags_are_harmless(void)
{
    for (int big = 0; big < 2; big++) {
        for (size_t size = 0; size <= EXIF_MADE; size++) {
            uint8_t whole[EXIF_MADE];
            uint8_t *exif = malloc(size + 1);

            exif_make(6, big == 1, whole);
            memcpy(exif, whole, size);
            exif = realloc(exif, size > 0 ? size : 1);
            T_EQ(exif_orientation(exif, size), size >= 34 ? 6 : 1);
            for (size_t at = 0; at < size; at++) {
                for (int bit = 0; bit < 8; bit++) {
                    uint32_t value;

                    exif[at] ^= (uint8_t)(1U << bit);
                    value = exif_orientation(exif, size);
                    T_TRUE(value >= 1 && value <= 8);
                    exif[at] ^= (uint8_t)(1U << bit);
                }
            }
            free(exif);
        }
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A JPEG file with an orientation; 0: without Exif data. */
static uint8_t *make_turned(uint32_t width, uint32_t height, uint32_t orientation, size_t *size_out)
{
    const jpeg_recipe recipe = {.width = width, .height = height, .seed = 3};
    uint8_t exif[EXIF_MADE];
    size_t size = 0;
    uint8_t *plain = jpeg_make(&recipe, &size);
    uint8_t *bytes;

    if (orientation == 0) {
        *size_out = size;
        return plain;
    }
    exif_make(orientation, orientation % 2 == 0, exif);
    bytes = exif_in_jpeg(plain, size, exif, sizeof(exif), size_out);
    free(plain);
    return bytes;
}

static void write_turned(const char *folder, const char *name, uint32_t orientation)
{
    size_t size = 0;
    uint8_t *bytes = make_turned(LIST_WIDTH, LIST_HEIGHT, orientation, &size);

    t_write_file(t_path(folder, name), bytes, size);
    free(bytes);
}

static image_facts facts_of(image_decoder *decoder, const uint8_t *bytes, size_t size)
{
    image_facts facts;
    uint32_t width;
    uint32_t height;

    T_OK(image_decoder_open(decoder, bytes, size, MAX_PIXELS, false, &width, &height));
    image_decoder_describe(decoder, &facts);
    return facts;
}

/* The pixels are those of the file without the tag. */
static void jpeg_files_have_an_orientation(void)
{
    const image_box box = {3, 2, 9, 7};
    image_decoder *decoder = NULL;
    image_view region;
    uint64_t want = 0;

    T_OK(image_decoder_create(&decoder));
    for (uint32_t orientation = 0; orientation <= 8; orientation++) {
        size_t size = 0;
        uint8_t *bytes = make_turned(30, 20, orientation, &size);
        uint64_t got;

        T_EQ(facts_of(decoder, bytes, size).orientation, orientation == 0 ? 1 : orientation);
        T_OK(decode_box(decoder, bytes, size, false, &box, &region));
        got = digest(SLUICE_OK, &region);
        T_TRUE(orientation == 0 || got == want);
        want = got;
        free(bytes);
    }
    image_decoder_destroy(decoder);
}

/* Ends of files within the segment are errors, as in any other header. */
static void jpeg_files_that_end_in_exif_are_errors(void)
{
    image_decoder *decoder = NULL;
    uint32_t width;
    uint32_t height;
    size_t size = 0;
    uint8_t *bytes = make_turned(30, 20, 6, &size);

    T_OK(image_decoder_create(&decoder));
    for (size_t cut = 2; cut < 12 + EXIF_MADE; cut++) {
        uint8_t *part = malloc(cut);

        memcpy(part, bytes, cut);
        T_STATUS(image_decoder_open(decoder, part, cut, MAX_PIXELS, false, &width, &height),
                 SLUICE_E_CORRUPT);
        free(part);
    }
    memcpy(bytes + 6, "http\0\0", 6); /* APP1 of XMP */
    T_EQ(facts_of(decoder, bytes, size).orientation, 1);
    free(bytes);
    image_decoder_destroy(decoder);
}

static void pnm_files_may_have_further_images(void)
{
    const uint8_t two[] = "P5 1 1 255 aP5 1 1 255 b";
    image_decoder *decoder = NULL;

    T_OK(image_decoder_create(&decoder));
    T_TRUE(facts_of(decoder, two, sizeof(two) - 1).further);
    T_TRUE(!facts_of(decoder, two, 12).further);
    T_TRUE(!facts_of(decoder, two, 13).further); /* a blank at the end */
    image_decoder_destroy(decoder);
}

#ifdef SLI_HAVE_PNG
static size_t put_chunk(uint8_t *to, const char *type, const uint8_t *data, size_t size)
{
    const uint8_t length[4] = {0, 0, (uint8_t)(size >> 8), (uint8_t)size};

    memcpy(to, length, 4);
    memcpy(to + 4, type, 4);
    memcpy(to + 8, data, size);
    memset(to + 8 + size, 0, 4);
    return size + 12;
}

/* The chunk eXIf may come before or after the pixels, acTL before them. */
static void png_files_have_orientation_frames_and_transparency(void)
{
    const png_recipe recipe = {
        .width = 20, .height = 10, .colour = PNG_COLOR_TYPE_RGB, .depth = 8, .seed = 5};
    const png_recipe clear = {.width = 20,
                              .height = 10,
                              .colour = PNG_COLOR_TYPE_PALETTE,
                              .depth = 8,
                              .transparent = true,
                              .seed = 5};
    image_decoder *decoder = NULL;
    uint8_t exif[EXIF_MADE];
    size_t size = 0;
    uint8_t *plain = png_make(&recipe, &size);

    T_OK(image_decoder_create(&decoder));
    T_EQ(facts_of(decoder, plain, size).orientation, 1);
    T_TRUE(!facts_of(decoder, plain, size).further && !facts_of(decoder, plain, size).transparent);
    exif_make(8, true, exif);
    for (int late = 0; late < 2; late++) {
        const size_t at = late == 1 ? size - 12 : 33; /* before IEND, after IHDR */
        uint8_t *bytes = malloc(size + 200);
        size_t used = at;
        image_facts facts;

        memcpy(bytes, plain, at);
        used += put_chunk(bytes + used, "eXIf", exif, sizeof(exif));
        used += late == 0 ? put_chunk(bytes + used, "acTL", (const uint8_t[8]){0, 0, 0, 2}, 8) : 0;
        memcpy(bytes + used, plain + at, size - at);
        used += size - at;
        png_seal(bytes, used);
        facts = facts_of(decoder, bytes, used);
        T_EQ(facts.orientation, 8);
        T_EQ(facts.further, late == 0);
        free(bytes);
    }
    free(plain);
    plain = png_make(&clear, &size);
    T_TRUE(facts_of(decoder, plain, size).transparent);
    free(plain);
    image_decoder_destroy(decoder);
}
#endif

/* ---- runs ------------------------------------------------------------------------------------ */

/* Two runs of two passes each, such as validations: four images are counted, the first is logged.
 */
static void check_counts(const char *folder, const char *stages, sli_image_note note,
                         const char *words)
{
    sluice_dataset *dataset = list_dataset(
        folder, "image\tlabel\n0.jpg\t0\n1.jpg\t0\n6.jpg\t0\n3.jpg\t0\ncmyk.jpg\t0\n", stages);
    const char *logged;

    kit_log_start(NULL, NULL);
    for (int run_number = 0; run_number < 2; run_number++) {
        sli_image_counts counts;
        engine_run run;

        open_run(&run, dataset, &(run_options){.batches = 2});
        while (next_batch(&run) == SLUICE_OK) {
            done_with_batch(&run);
        }
        sli_engine_stop(run.engine);
        sli_engine_image_counts(run.engine, &counts);
        for (sli_image_note i = 0; i < SLI_IMAGE_NOTES; i++) {
            T_EQ(counts.of[i], i == note ? 4 : i == SLI_IMAGE_CMYK ? 2 : 0);
        }
        close_run(&run);
    }
    logged = kit_log_stop();
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 2);
    T_CONTAINS(logged, words);
    T_CONTAINS(logged, "decode: cmyk.jpg is the first image in CMYK");
    sluice_dataset_destroy(dataset);
}

static void a_run_counts_images_and_logs_the_first(void)
{
    const char *folder = t_folder();
    const jpeg_recipe cmyk = {
        .width = LIST_WIDTH, .height = LIST_HEIGHT, .space = JCS_CMYK, .seed = 2};
    size_t size = 0;
    uint8_t *bytes = jpeg_make(&cmyk, &size);

    t_write_file(t_path(folder, "cmyk.jpg"), bytes, size);
    free(bytes);
    write_turned(folder, "0.jpg", 0);
    write_turned(folder, "1.jpg", 1);
    write_turned(folder, "6.jpg", 6);
    write_turned(folder, "3.jpg", 3);
    check_counts(folder, "| decode | resize 20,20 | batch 5", SLI_IMAGE_ORIENTED,
                 "decode: 6.jpg is the first image with an Exif orientation other than 1, which is "
                 "applied");
    check_counts(folder, "| decode orient=false | batch 5", SLI_IMAGE_AS_STORED,
                 "decode: 6.jpg is the first image with an Exif orientation other than 1, which "
                 "orient=false does not apply");
}

/* Packs 0.jpg and 6.jpg; returns the outcomes. */
static sluice_pack_stats pack_two(const char *folder, const char *out, bool raw)
{
    sluice_dataset *dataset = list_dataset(folder, "image\tlabel\n0.jpg\t0\n6.jpg\t0\n", "");
    sluice_pack_config config = config_of(dataset, out);
    sluice_pack_stats stats;

    config.raw = raw;
    config.quality = raw ? 0 : 90;
    sluice_pack_stats_init(&stats);
    T_OK(sluice_pack(&config, &stats));
    sluice_dataset_destroy(dataset);
    return stats;
}

/* What is encoded anew has the orientation of its file; pixels alone have none. */
static void a_pack_keeps_the_orientation(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_image_info info;
    sluice_reader *reader = NULL;
    sluice_dataset *dataset;
    sluice_sample_view view;
    sluice_pack_stats stats;

    T_NEEDS(can_pack(), "built without libarchive");
    write_turned(folder, "0.jpg", 0);
    write_turned(folder, "6.jpg", 6);
    stats = pack_two(folder, packed, false);
    T_EQ(stats.fates[SLUICE_PACK_ENCODED], 2);
    dataset = parsedf("webdataset %s", packed);
    T_OK(sluice_reader_create(dataset, &reader));
    for (uint64_t i = 0; i < 2; i++) {
        T_OK(sluice_reader_get(reader, i, 0, &view));
        sluice_image_info_init(&info);
        T_OK(sluice_image_header(view.data, view.bytes, &info));
        T_EQ(info.orientation, i == 0 ? 1 : 6);
    }
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);
    stats = pack_two(folder, folder_named(folder, "raw"), true);
    T_EQ(stats.fates[SLUICE_PACK_RAW], 1);
    T_EQ(stats.fates[SLUICE_PACK_KEPT_HEADER], 1);
}

#ifdef SLI_HAVE_JANSSON
/* A run of one image with annotations for this size. */
static tape run_annotated(const char *folder, const char *file, uint32_t width, uint32_t height,
                          const char *orient)
{
    char json[400];

    snprintf(json, sizeof(json),
             "{\"images\": [{\"id\": 1, \"file_name\": \"%s\", \"width\": %u, \"height\": %u}], "
             "\"annotations\": [], \"categories\": []}",
             file, width, height);
    t_write_file(t_path(folder, "c.json"), json, strlen(json));
    return record_own(
        parsedf("coco %s/c.json | decode orient=%s | resize 8,8 | batch 1", folder, orient),
        &(run_options){.workers = 1});
}

/* Checks a run of an image that its annotations do not fit. */
static void check_misfit(const char *folder, const char *file, uint32_t width, uint32_t height,
                         const char *orient, const char *words)
{
    tape t = run_annotated(folder, file, width, height, orient);

    T_EQ(t.end, SLUICE_E_CORRUPT);
    T_CONTAINS(t.error, words);
    free(t.bytes);
}

/* Checks a run of an image that its annotations fit. */
static void check_fit(const char *folder, const char *file, uint32_t width, uint32_t height,
                      const char *orient)
{
    tape t = run_annotated(folder, file, width, height, orient);

    T_EQ(t.batches, 1);
    T_EQ(t.end, SLUICE_END_OF_DATA);
    free(t.bytes);
}

static void annotations_must_fit_the_image(void)
{
    const char *folder = t_folder();

    write_turned(folder, "6.jpg", 6);
    write_turned(folder, "3.jpg", 3);
    kit_log_start(NULL, NULL);
    check_fit(folder, "6.jpg", LIST_WIDTH, LIST_HEIGHT, "false");
    check_fit(folder, "6.jpg", LIST_HEIGHT, LIST_WIDTH, "true");
    check_fit(folder, "6.jpg", LIST_WIDTH, LIST_HEIGHT, "true"); /* they follow the image */
    check_fit(folder, "3.jpg", LIST_WIDTH, LIST_HEIGHT, "true");
    check_misfit(folder, "6.jpg", 20, 40, "true",
                 "the image is 30x40, and its annotations are for 20x40");
    check_misfit(folder, "6.jpg", LIST_HEIGHT, LIST_WIDTH, "false",
                 "decode: sample 0, 6.jpg: the annotations are for 30x40, the image with its "
                 "Exif orientation 6 applied, and pixels are used as stored, 40x30; apply the "
                 "orientation to the file (mogrify -auto-orient), or decode orient=true");
    check_misfit(folder, "3.jpg", LIST_HEIGHT, LIST_WIDTH, "false",
                 "the image is 40x30, and its annotations are for 30x40");
    check_misfit(folder, "3.jpg", LIST_HEIGHT, LIST_WIDTH, "true",
                 "the image is 40x30, and its annotations are for 30x40");
    kit_log_stop();
}
#endif

const t_test image_notes_tests[] = {
    T_TEST(the_orientation_is_that_of_the_tag),
    T_TEST(damaged_tags_are_harmless),
    T_TEST(jpeg_files_have_an_orientation),
    T_TEST(jpeg_files_that_end_in_exif_are_errors),
    T_TEST(pnm_files_may_have_further_images),
#ifdef SLI_HAVE_PNG
    T_TEST(png_files_have_orientation_frames_and_transparency),
#endif
    T_TEST(a_run_counts_images_and_logs_the_first),
    T_TEST(a_pack_keeps_the_orientation),
#ifdef SLI_HAVE_JANSSON
    T_TEST(annotations_must_fit_the_image),
#endif
    T_END,
};
