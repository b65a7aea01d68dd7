/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_reader: columns of samples as they are stored; sluice_image_header(). */
#include <stdlib.h>

#include <sluice/arrays.h>
#include <sluice/reader.h>
#include <sluice/sampling.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "jpeg_maker.h"
#include "list_kit.h"
#include "testing.h"
#ifdef SLI_HAVE_PNG
#include "png_maker.h"
#endif

static int find_column(const sluice_reader *reader, const char *name, sluice_column_spec *spec)
{
    for (uint32_t i = 0; i < sluice_reader_columns(reader); i++) {
        T_OK(sluice_reader_column(reader, i, spec));
        if (strcmp(spec->name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Reads a column by name; it must be there. */
static sluice_sample_view column_of(sluice_reader *reader, uint64_t sample, const char *name)
{
    sluice_column_spec spec;
    sluice_sample_view view = {.rank = 0};
    const int column = find_column(reader, name, &spec);

    T_TRUE(column >= 0);
    T_OK(sluice_reader_get(reader, sample, (uint32_t)column, &view));
    return view;
}

/* In any order of columns and samples: the bytes of files, and what the list has. */
static void columns_are_as_stored(void)
{
    static const float box[4] = {10, 5, 30, 25};
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sluice_reader *reader = NULL;
    sluice_sample_view view;
    sluice_column_spec spec;

    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "c.ppm", "m.pgm");
    dataset = list_dataset(folder,
                           LIST_OF_BOXES "c.ppm\t7\tm.pgm\t10,5,30,25\t9\n"
                                         "absent.ppm\t8\tm.pgm\t\t\n",
                           "");
    T_OK(sluice_reader_create(dataset, &reader));
    T_EQ(sluice_reader_samples(reader), 3);
    T_EQ(sluice_reader_columns(reader), 6);
    view = column_of(reader, 0, "mask");
    T_TRUE(view.dtype == SLUICE_ENCODED && view.rank == 1 && view.shape[0] == view.bytes);
    T_EQ(memcmp(view.data, "P5 40 30 255\n\1\x08", 15), 0);
    view = column_of(reader, 1, "image");
    T_EQ(view.bytes, 13 + 40 * 30 * 3);
    T_EQ(memcmp(view.data, "P6 40 30 255\n", 13), 0);
    T_EQ(*(const int32_t *)column_of(reader, 1, "label").data, 7);
    view = column_of(reader, 1, "boxes");
    T_TRUE(view.rank == 2 && view.shape[0] == 3 && view.shape[1] == 4 && view.bytes == 48);
    T_EQ(memcmp(view.data, box, sizeof(box)), 0);
    T_TRUE(is_zero((const float *)view.data + 4, 32));
    T_EQ(*(const int32_t *)column_of(reader, 0, "boxes_length").data, 3);
    T_EQ(*(const int32_t *)column_of(reader, 2, "label").data, 8);
    T_STATUS(sluice_reader_get(reader, 2, 0, &view), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "absent.ppm: cannot open");

    T_TRUE(find_column(reader, "mask", &spec) >= 0 && spec.role == SLUICE_ROLE_MASK);
    T_TRUE(find_column(reader, "image", &spec) >= 0 && spec.role == SLUICE_ROLE_IMAGE);
    T_TRUE(find_column(reader, "boxes", &spec) >= 0 && spec.role == SLUICE_ROLE_BOXES);
    T_TRUE(spec.ragged == 1 && spec.shape[0] == 3);
    T_TRUE(find_column(reader, "c", &spec) >= 0 && spec.ragged == 1);
    T_STR(spec.boxes, "boxes");
    T_TRUE(find_column(reader, "label", &spec) >= 0 && spec.ragged == 0 && spec.boxes == NULL);
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);
}

/* The same pixels and labels as a batch has, for sources without files of images. */
static void raw_images_are_pixels(void)
{
    sluice_dataset *dataset = parsed("synthetic 10 6,5,3 4");
    sluice_dataset *batched = parsed("synthetic 10 6,5,3 4 | batch 1");
    sluice_reader *readers[2] = {NULL, NULL};
    uint8_t pixels[6 * 5 * 3];
    int32_t label;
    void *columns[] = {pixels, &label};

    T_OK(sluice_reader_create(dataset, &readers[0]));
    T_OK(sluice_reader_create(dataset, &readers[1]));
    for (uint64_t i = 0; i < 10; i++) {
        const sluice_sample_view image = column_of(readers[i % 2], i, "image");

        T_OK(sluice_dataset_get(batched, 0, 0, i, columns, NULL));
        T_TRUE(image.dtype == SLUICE_U8 && image.rank == 3 && image.bytes == sizeof(pixels));
        T_TRUE(image.shape[0] == 6 && image.shape[1] == 5 && image.shape[2] == 3);
        T_EQ(memcmp(image.data, pixels, sizeof(pixels)), 0);
        T_EQ(*(const int32_t *)column_of(readers[i % 2], i, "label").data, label);
    }
    sluice_reader_destroy(readers[0]);
    sluice_reader_destroy(readers[1]);
    sluice_dataset_destroy(dataset);
    sluice_dataset_destroy(batched);
}

static void wrong_calls_are_refused(void)
{
    sluice_dataset *dataset = parsed("synthetic 10");
    sluice_reader *reader = NULL;
    sluice_column_spec spec;
    sluice_sample_view view;
    sluice_image_info info;

    T_STATUS(sluice_reader_create(NULL, &reader), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_create(dataset, NULL), SLUICE_E_INVALID);
    T_OK(sluice_reader_create(dataset, &reader));
    T_STATUS(sluice_reader_column(reader, 2, &spec), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_column(reader, 0, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_get(reader, 10, 0, &view), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sample 10 must be less than 10, the samples of the source");
    T_STATUS(sluice_reader_get(reader, 0, 2, &view), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_get(reader, 0, 0, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_get(NULL, 0, 0, &view), SLUICE_E_INVALID);
    T_EQ(sluice_reader_samples(NULL), 0);
    T_EQ(sluice_reader_columns(NULL), 0);
    sluice_image_info_init(&info);
    T_STATUS(sluice_image_header(NULL, 0, &info), SLUICE_E_INVALID);
    T_STATUS(sluice_image_header("x", 1, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_image_header("x", 1, &info), SLUICE_E_CORRUPT);
    T_STATUS(sluice_image_header("", 0, &info), SLUICE_E_CORRUPT);
    sluice_reader_destroy(reader);
    sluice_reader_destroy(NULL);
    sluice_dataset_destroy(dataset);
}

/* The image, a check and the boxes of a sample are asked for in turn: its file is read once, so
 * that it may be gone after the first call. Another sample, or a mask, takes its place. */
static void a_file_is_read_once_for_a_survey(void)
{
    const char *folder = t_folder();
    sluice_reader *reader = NULL;
    sluice_sample_view view;
    sluice_dataset *dataset;

    t_write_file(t_path(folder, "a.ppm"), "P6 2 1 255\nabcdef", 17);
    t_write_file(t_path(folder, "b.ppm"), "P6 2 1 255\nabcdef", 17);
    dataset = list_dataset(folder, "image\tboxes:boxes[2]\na.ppm\t0,0,9,9\nb.ppm\t\n", "");
    T_OK(sluice_reader_create(dataset, &reader));
    view = column_of(reader, 0, "image");
    T_EQ(view.bytes, 17);
    T_EQ(remove(t_path(folder, "a.ppm")), 0);
    T_OK(sluice_reader_check(reader, 0));
    view = column_of(reader, 0, "boxes");
    T_TRUE(((const float *)view.data)[2] == 2 && ((const float *)view.data)[3] == 1);
    T_OK(sluice_reader_check(reader, 1));
    T_STATUS(sluice_reader_check(reader, 0), SLUICE_E_IO);
    T_STATUS(sluice_reader_get(reader, 0, 0, &view), SLUICE_E_IO);
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);
}

/* The header of what the last call gave. */
static void a_reader_reads_headers_of_its_files(void)
{
    const char *folder = t_folder();
    sluice_image_info info;
    sluice_reader *reader = NULL;
    sluice_sample_view view;
    sluice_dataset *dataset;

    t_write_file(t_path(folder, "a.pgm"), "P5 2 1 255\nab", 13);
    dataset = list_dataset(folder, "image\tlabel\na.pgm\t0\n", "");
    sluice_image_info_init(&info);
    T_OK(sluice_reader_create(dataset, &reader));
    T_STATUS(sluice_reader_header(NULL, &info), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_header(reader, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_reader_header(reader, &info), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "the last call must be a sluice_reader_get() of an encoded image");
    T_OK(sluice_reader_get(reader, 0, 0, &view));
    T_OK(sluice_reader_header(reader, &info));
    T_STR(info.format, "PGM");
    T_OK(sluice_reader_get(reader, 0, 1, &view));
    T_STATUS(sluice_reader_header(reader, &info), SLUICE_E_INVALID);
    T_OK(sluice_reader_get(reader, 0, 0, &view));
    T_OK(sluice_reader_check(reader, 0)); /* reads a file into the same memory */
    T_STATUS(sluice_reader_header(reader, &info), SLUICE_E_INVALID);
    T_STATUS(sluice_image_header("II*\0\10\0\0\0", 8, &info), SLUICE_E_UNSUPPORTED);
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);
}

/* Neither a reader nor a group can ask a stream for a sample by its number. */
static void a_stream_has_no_numbers_of_samples(void)
{
    custom_arrays arrays = {.fault = NO_FAULT};
    sluice_source of = custom_arrays_source(&arrays);
    const sluice_source source = custom_stream_of(&of);
    sluice_dataset *stream = custom_dataset(&source, "take 5");
    sluice_dataset *group = NULL;
    sluice_reader *reader = NULL;
    sluice_dataset_info info;

    T_STATUS(sluice_reader_create(stream, &reader), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "is a stream here, which has no numbers of samples; give");
    T_TRUE(reader == NULL);
    sluice_dataset_destroy(stream);
    stream = custom_dataset(&source, "take 5");
    T_OK(sluice_dataset_concat(&stream, 1, &group));
    T_OK(sluice_dataset_add(group, "batch 2"));
    sluice_dataset_info_init(&info);
    T_STATUS(sluice_dataset_inspect(group, &info), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "concat: part 1: ");
    T_CONTAINS(sluice_last_error(), "is a stream here, which has no numbers of samples; give");
    sluice_dataset_destroy(group);
}

/* ---- headers --------------------------------------------------------------------------------- */

static sluice_image_info header_of(const uint8_t *bytes, size_t size)
{
    sluice_image_info info;

    sluice_image_info_init(&info);
    T_OK(sluice_image_header(bytes, size, &info));
    return info;
}

static void headers_of_jpeg_files_say_their_kind(void)
{
    static const struct {
        jpeg_recipe recipe;
        uint32_t channels;
        uint32_t chroma_x;
        uint32_t chroma_y;
    } cases[] = {
        {{.width = 20, .height = 9}, 3, 1, 1},
        {{.width = 20, .height = 9, .sampling = {0x22}, .restart = 2}, 3, 2, 2},
        {{.width = 20, .height = 9, .sampling = {0x21}, .progressive = true}, 3, 2, 1},
        {{.width = 20, .height = 9, .sampling = {0x12}}, 3, 1, 2},
        {{.width = 20, .height = 9, .space = JCS_GRAYSCALE}, 1, 0, 0},
        {{.width = 20, .height = 9, .space = JCS_CMYK}, 4, 1, 1},
        {{.width = 20, .height = 9, .arithmetic = true}, 3, 1, 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t size = 0;
        uint8_t *bytes = jpeg_make(&cases[i].recipe, &size);
        sluice_image_info info;

        if (bytes == NULL) {
            continue; /* this libjpeg cannot make it */
        }
        info = header_of(bytes, size);
        T_STR(info.format, "JPEG");
        T_TRUE(info.width == 20 && info.height == 9 && info.bits == 8 && info.palette == 0);
        T_EQ(info.channels, cases[i].channels);
        T_EQ(info.chroma_x, cases[i].chroma_x);
        T_EQ(info.chroma_y, cases[i].chroma_y);
        T_EQ(info.progressive, cases[i].recipe.progressive);
        T_EQ(info.arithmetic, cases[i].recipe.arithmetic);
        T_EQ(info.restart_interval, cases[i].recipe.restart);
        T_STATUS(sluice_image_header(bytes, 30, &info), SLUICE_E_CORRUPT);
        free(bytes);
    }
}

static void headers_of_other_files_say_their_kind(void)
{
    const sluice_image_info ppm = header_of((const uint8_t *)"P6 1 1 255\nabc", 14);
    const sluice_image_info pgm = header_of((const uint8_t *)"P5 2 1 255\nab", 13);

    T_STR(ppm.format, "PPM");
    T_TRUE(ppm.channels == 3 && ppm.width == 1 && ppm.bits == 8);
    T_STR(pgm.format, "PGM");
    T_TRUE(pgm.channels == 1 && pgm.width == 2);
#ifdef SLI_HAVE_PNG
    static const struct {
        png_recipe recipe;
        uint32_t channels;
    } cases[] = {
        {{.width = 7, .height = 3, .colour = PNG_COLOR_TYPE_PALETTE, .depth = 4}, 1},
        {{.width = 7, .height = 3, .colour = PNG_COLOR_TYPE_GRAY, .depth = 16}, 1},
        {{.width = 7, .height = 3, .colour = PNG_COLOR_TYPE_GRAY_ALPHA, .depth = 8}, 2},
        {{.width = 7, .height = 3, .colour = PNG_COLOR_TYPE_RGB, .depth = 8, .interlaced = true},
         3},
        {{.width = 7, .height = 3, .colour = PNG_COLOR_TYPE_RGB_ALPHA, .depth = 8}, 4},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const png_recipe *recipe = &cases[i].recipe;
        size_t size = 0;
        uint8_t *bytes = png_make(recipe, &size);
        const sluice_image_info info = header_of(bytes, size);

        T_STR(info.format, "PNG");
        T_TRUE(info.width == 7 && info.height == 3 && info.channels == cases[i].channels);
        T_EQ(info.bits, recipe->depth);
        T_EQ(info.palette, recipe->colour == PNG_COLOR_TYPE_PALETTE);
        T_EQ(info.progressive, recipe->interlaced);
        free(bytes);
    }
#endif
}

const t_test source_reader_tests[] = {
    T_TEST(columns_are_as_stored),
    T_TEST(raw_images_are_pixels),
    T_TEST(wrong_calls_are_refused),
    T_TEST(a_file_is_read_once_for_a_survey),
    T_TEST(a_reader_reads_headers_of_its_files),
    T_TEST(a_stream_has_no_numbers_of_samples),
    T_TEST(headers_of_jpeg_files_say_their_kind),
    T_TEST(headers_of_other_files_say_their_kind),
    T_END,
};
