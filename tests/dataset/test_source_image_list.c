/* SPDX-License-Identifier: Apache-2.0 */
/* image_list: its columns, and masks and boxes that follow their image. */
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"
#ifdef SLI_HAVE_PNG
#include "png_maker.h"
#endif

/* ---- columns --------------------------------------------------------------------------------- */

static void columns_are_what_the_header_says(void)
{
    const char *folder = t_folder();
    engine_run run;
    sluice_dataset *dataset;

    write_pair(folder, "a b.ppm", "m.pgm");
    dataset = list_dataset(folder,
                           "\xEF\xBB\xBFimage\tlabel\tw:f32\ttags:u16[3]\tcaption:text[8]\r\n"
                           "\"a b.ppm\"\t-3\t0.5\t7,65535\t\"say \"\"hi\"\"\"\r\n"
                           "a b.ppm\t4\t-1e3\t\t\r\n",
                           "| decode | batch 2");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "label", 0), -3);
    T_EQ(*(const int32_t *)column_row(&run, "label", 1), 4);
    T_TRUE(*(const float *)column_row(&run, "w", 1) == -1000.0F);
    T_EQ(memcmp(column_row(&run, "tags", 0), (const uint16_t[]){7, 65535, 0}, 6), 0);
    T_EQ(*(const int32_t *)column_row(&run, "tags_length", 0), 2);
    T_EQ(memcmp(column_row(&run, "caption", 0), "say \"hi\"", 8), 0);
    T_EQ(*(const int32_t *)column_row(&run, "caption_length", 0), 8);
    T_TRUE(is_zero(column_row(&run, "tags", 1), 6) && is_zero(column_row(&run, "caption", 1), 8));
    T_EQ(*(const int32_t *)column_row(&run, "caption_length", 1), 0);
    T_STR(name_of(dataset, 1), "a b.ppm");
    close_run(&run);
}

/* As spreadsheets and dataframes write them: quotes, blanks, CRLF, whole reals. */
static void lists_of_other_programs_are_read(void)
{
    const char *folder = t_folder();
    char text[800];
    engine_run run;
    sluice_dataset *dataset;

    write_pair(folder, "Image 1.ppm", "m.pgm");
    write_list(folder, "a.csv",
               "\"image\", label ,n:i32[2],w:f32\r\n\"Image 1.ppm\", 3.0 ,\"1, 2\", 0.5\r\n");
    write_list(folder, "b.csv", "Image 1.ppm,4.0\r\n");
    snprintf(text, sizeof(text), "image_list %s/a.csv | decode | batch 1", folder);
    dataset = parsed(text);
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "label", 0), 3);
    T_EQ(memcmp(column_row(&run, "n", 0), (const int32_t[]){1, 2}, 8), 0);
    T_TRUE(*(const float *)column_row(&run, "w", 0) == 0.5F);
    close_run(&run);
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "image_list %s/b.csv | decode | batch 1", folder);
    dataset = parsed(text);
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "label", 0), 4);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

static void a_list_without_a_header_is_paths_and_labels(void)
{
    const char *folder = t_folder();
    char text[800];
    engine_run run;

    T_EQ(mkdir(t_path(folder, "pictures"), 0700), 0);
    write_pair(folder, "pictures/a.ppm", "m.pgm");
    write_list(folder, "list.csv", "a.ppm,5\na.ppm,6\n");
    snprintf(text, sizeof(text),
             "image_list %s/list.csv root=%s/pictures | decode | center_crop 3 | batch 2", folder,
             folder);
    open_own(&run, parsed(text), &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "label", 1), 6);
    close_run(&run);
}

/* Around names, types and lengths. A file whose name begins with # can be listed. */
static void blanks_in_a_header_are_ignored(void)
{
    static const char *const lists[] = {
        "image , label , tags : u16 [2] \na.ppm, 3 , \na.ppm,4,\n",
        " image\t,label,tags: u16[2]\n./#1.ppm,3,\n./#1.ppm,4,\n",
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "#1.ppm", "m.pgm");
    for (int i = 0; i < 2; i++) {
        sluice_dataset *dataset = NULL;

        write_list(folder, "list.csv", lists[i]);
        T_OK(sluice_dataset_parsef(&dataset, "image_list %s", t_path(folder, "list.csv")));
        T_STR(name_of(dataset, 0), i == 0 ? "a.ppm" : "./#1.ppm");
        T_EQ(label_of(dataset, 1), 4);
        sluice_dataset_destroy(dataset);
    }
}

static void bad_lists_say_where(void)
{
    static const refused_case bad[] = {
        {"", "the list is empty"},
        {"image\tlabel\n", "header only"},
        {"image\tx:f33\na\t1\n", "list.tsv:1:7: 'x:f33' must be a column"},
        {"mask:mask\nm.pgm\n", "no column image"},
        {"Image\tLabel\na.ppm\t3\n",
         "list.tsv:1:1: the first line, 'Image', may be a header or the path of an image: a header "
         "must be image, label"},
        {"IMAGE\na.ppm\n", "if it is a path, write ./IMAGE"},
        {"image,label\na.ppm,3\n", "the first line, 'image,label', may be a header"},
        {"image\tLabel\na.ppm\t3\n", "list.tsv:1:7: 'Label' must be a column: image, label"},
        {"path\tclass\na.ppm\t3\n",
         "list.tsv:1:6: 'class' must be a number of type i32, the label of a list without a "
         "header; "
         "if this line is the header, its columns must be image and label; if labels are "
         "names of classes, the header must be image and label:class"},
        {"a.ppm\tcat\nb.ppm\t3\n", "list.tsv:1:7: 'cat' must be a number of type i32, the label"},
        {"\xFF\xFEi", "the list is UTF-16 and must be UTF-8"},
        {"a.ppm\t3\t4\n", "the first line has 3 fields, and a list without a header"},
        {"image\tlabel\nb.ppm\tx\n",
         "list.tsv:2:7: 'x' must be a number of type i32; if label is the name of a class, the "
         "column must be label:class, and for other texts label:text[N]"},
        {"# made by a tool\nimage\tlabel\na.ppm\t1\n",
         "list.tsv:1:1: the first line begins with '#', and a list has no comments: remove the "
         "line"},
        {" #image\tx:f32\na.ppm\t1\n", "a list has no comments"},
        {" Image \t Label\na.ppm\t1\n", "the first line, 'Image', may be a header"},
        {"image\tlabel\na.ppm\n", "list.tsv:2:1: the line has 1 fields, and must have 2"},
        {"image\tlabel\na.ppm\t1\t2\n", "list.tsv:2:9: the line has more than 2 fields"},
        {"image\tlabel\n\t1\n", "list.tsv:2:1: the path must not be empty"},
        {"image\tlabel\n\"a\t1\n", "list.tsv:2:1: a quote has no end"},
        {"image\tb:boxes[2]\tc:i32[2]@b\na\t0,0,1,1\t1,2\n",
         "list.tsv:2:11: the field has 2 numbers, and must have one for each of the 1 box"},
        {"image\tb:boxes[2]\na\t0,0,nan,1\n", "list.tsv:2:3: box 1, '0,0,nan,1', must be"},
        {"image\tb:coco[2]\na\t0,0,1,1;2,2,-1,1\n", "must be x,y,width,height with 0 <= width"},
        {"image\tb:coco[2]\na\t-4,0,4,4\n", "box 1, '-4,0,4,4', is wholly outside its"},
        {"image\tb:voc[2]\na\t5,1,3,4\n", "must be x0,y0,x1,y1 with x0 <= x1"},
        {"image\tb:darknet[2]\na\t1.5,0.5,1,1\n", "box 1, '1.5,0.5,1,1', is wholly outside"},
        {"image\tb:darknet[2]\na\t0.5,0.5,1,1;50,5,30,25\n", "box 2, '50,5,30,25', is wholly"},
        {"image\tb:darknet[2]\na\t0.5,0.5,1\n", "must be x,y,width,height of its centre"},
        {"image\tb:darknet[1]\na\t0.5,0.5,1,1;.5,.5,1,1\n", "more than 1 boxes"},
        {"image\tb:voc\na\t1,1,2,2\n", "'b:voc' must be a column"},
        {"image\tx:f32\tx:i32\na\t1\t2\n",
         "list.tsv:1:13: the header: two columns have the name x"},
        {"image\timage:mask\na\tm\n", "two columns have the name image"},
        {"image\tb:boxes[2]\tb_length:i32\na\t\t1\n", "two columns have the name b_length"},
        {"image\t1x:f32\na\t1\n", "the column name '1x' must be letters"},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;

        write_list(folder, "list.tsv", bad[i].text);
        T_TRUE(sluice_dataset_parsef(&dataset, "image_list %s", t_path(folder, "list.tsv")) < 0);
        CU_ASSERT_PTR_NULL(dataset);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
    T_STATUS(sluice_dataset_parse("image_list /nonexistent/list", &(sluice_dataset *){NULL}),
             SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/nonexistent/list: cannot open");
    T_STATUS(sluice_dataset_parsef(&(sluice_dataset *){NULL}, "image_list %s", folder),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "has no files with extensions jpg,");
}

/* ---- what follows the image ------------------------------------------------------------------ */

/* Where every pixel of the image came from, the mask has that place's number. */
static void check_mask(const engine_run *run, uint32_t width, uint32_t height)
{
    const uint8_t *image = column_row(run, "image", 0);
    const uint8_t *mask = column_row(run, "mask", 0);

    for (uint32_t i = 0; i < width * height; i++) {
        const uint8_t *pixel = image + (size_t)3 * i;

        T_EQ(mask[i], pixel[2] == 0 ? 0 : class_of(pixel[0], pixel[1]));
    }
}

/* Each box that is left lies where its first pixel of the image is, by the image's own pixels. */
static void check_boxes(const engine_run *run, uint32_t width)
{
    static const float whole[3][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}, {36, 0, 40, 3}};
    const float *boxes = column_row(run, "boxes", 0);
    const int32_t *classes = column_row(run, "c", 0);
    const int32_t count = *(const int32_t *)column_row(run, "boxes_length", 0);
    const uint8_t *image = column_row(run, "image", 0);

    for (int32_t i = 0; i < 3; i++) {
        if (i >= count) {
            T_TRUE(is_zero(boxes + (size_t)4 * i, 16) && classes[i] == 0);
            continue;
        }
        T_TRUE(classes[i] >= 1 && classes[i] <= 3 && (i == 0 || classes[i] > classes[i - 1]));
        for (int corner = 0; corner < 2; corner++) { /* the first pixel within, and the last */
            const float *b = boxes + (size_t)4 * i;
            const uint32_t x = (uint32_t)(corner == 0 ? ceilf(b[0]) : floorf(b[2]) - 1);
            const uint32_t y = (uint32_t)(corner == 0 ? ceilf(b[1]) : floorf(b[3]) - 1);
            const uint8_t *pixel = image + ((size_t)y * width + x) * 3;
            const float *from = whole[classes[i] - 1];

            if (b[2] - b[0] >= 2 && b[3] - b[1] >= 2) {
                T_TRUE(pixel[0] >= from[0] && pixel[0] < from[2] && pixel[1] >= from[1] &&
                       pixel[1] < from[3]);
            }
        }
    }
}

static void masks_and_boxes_follow_every_geometry(void)
{
    static const char *const stages[] = {
        "center_crop 20",
        "random_crop 16,24",
        "random_crop 33 padding=3",
        "random_horizontal_flip 1",
        "random_crop 20 | random_horizontal_flip 0.5",
        "random_horizontal_flip 1 offload=host | random_horizontal_flip 1",
        "random_resized_crop 20 filter=nearest antialias=false",
        "random_crop 25 | resize 20 filter=nearest antialias=false | random_crop 20 padding=2",
        "resize 50,60 filter=nearest antialias=false | center_crop 44 | random_horizontal_flip",
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            char text[300];
            sluice_dataset *dataset;
            engine_run run;

            snprintf(text, sizeof(text), "| decode | %s | batch 1", stages[i]);
            dataset = list_dataset(folder, LIST_OF_BOXES, text);
            open_own(&run, dataset,
                     &(run_options){
                         .workers = 1, .device = devices[seed % 2], .settings = {.seed = seed}});
            T_OK(next_batch(&run));
            check_mask(&run, (uint32_t)dataset->opened_schema.columns[0].shape[1],
                       (uint32_t)dataset->opened_schema.columns[0].shape[0]);
            check_boxes(&run, (uint32_t)dataset->opened_schema.columns[0].shape[1]);
            close_run(&run);
        }
    }
}

static void boxes_are_moved_clipped_and_dropped(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    engine_run run;
    const float *boxes;

    write_pair(folder, "a.ppm", "m.pgm");
    /* The crop is [10, 30) x [5, 25): the first and the last box lose all, the second is it. */
    dataset = list_dataset(folder, LIST_OF_BOXES,
                           "| decode | center_crop 20 | resize 60,40 | center_crop 40 | batch 1");
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    boxes = column_row(&run, "boxes", 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    T_TRUE(boxes[0] == 0 && boxes[1] == 0 && boxes[2] == 40 && boxes[3] == 40);
    T_EQ(((const int32_t *)column_row(&run, "c", 0))[0], 2);
    close_run(&run);
    sluice_dataset_destroy(dataset);
    dataset = list_dataset(folder, LIST_OF_BOXES,
                           "| decode | resize 60,80 | random_horizontal_flip 1 | batch 1");
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    boxes = column_row(&run, "boxes", 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 3);
    T_EQ(memcmp(boxes, (const float[]){72, 0, 80, 60, 20, 10, 60, 50, 0, 0, 8, 6}, 48), 0);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

/* The boxes of LIST_OF_BOXES, in an image of 40 x 30, in the forms of other data sets. */
static void boxes_may_have_other_forms(void)
{
    static const char *const forms[] = {
        "boxes[3]\tc:i32[3]@b\na.ppm\t0,0,4,30;10,5,30,25;36,0,40,3\t1,2,3\n",
        "coco[3]\tc:i32[3]@b\na.ppm\t0,0,4,30;10,5,20,20;36,0,4,3\t1,2,3\n",
        "voc[3]\tc:i32[3]@b\na.ppm\t1,1,4,30;11,6,30,25;37,1,40,3\t1,2,3\n",
        ("darknet[3]\tc:i32[3]@b\n"
         "a.ppm\t0.05,0.5,0.1,1.00001;0.5,0.5,0.5,0.666666667;0.95,0.05,0.1,0.1\t1,2,3\n"),
    };
    static const char *const stages[] = {"center_crop 28,38", "random_horizontal_flip 1",
                                         "random_resized_crop 20 | random_horizontal_flip"};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint32_t i = 0; i < 3 * 4; i++) {
        engine_run runs[2];
        sluice_dataset *datasets[2];
        const float *boxes[2];

        for (int k = 0; k < 2; k++) {
            char list[300];
            char text[200];

            snprintf(list, sizeof(list), "image\tb:%s", forms[k == 0 ? 0 : i % 4]);
            snprintf(text, sizeof(text), "| decode | %s | batch 1", stages[i / 4]);
            datasets[k] = list_dataset(folder, list, text);
            open_run(&runs[k], datasets[k],
                     &(run_options){.workers = 1, .settings = {.seed = i / 4}});
            T_OK(next_batch(&runs[k]));
            boxes[k] = column_row(&runs[k], "b", 0);
        }
        T_EQ(*(const int32_t *)column_row(&runs[0], "b_length", 0),
             *(const int32_t *)column_row(&runs[1], "b_length", 0));
        T_EQ(memcmp(column_row(&runs[0], "c", 0), column_row(&runs[1], "c", 0), 12), 0);
        for (int k = 0; k < 12; k++) {
            T_TRUE(fabsf(boxes[0][k] - boxes[1][k]) < 1e-4F);
        }
        for (int k = 0; k < 2; k++) {
            close_run(&runs[k]);
            sluice_dataset_destroy(datasets[k]);
        }
    }
}

/* The same samples whatever runs them, and the image is as without its followers. */
static void followers_change_nothing_else(void)
{
    const char *folder = t_folder();
    const char *stages = "| shuffle | decode | random_resized_crop 16 | random_horizontal_flip | "
                         "normalize imagenet | to_chw | batch 2";
    char list[1000] = LIST_OF_BOXES;
    sluice_dataset *dataset;
    tape want;

    for (int i = 0; i < 6; i++) {
        strcat(list, "a.ppm\t1\tm.pgm\t0,0,4,30\t5\n");
    }
    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, list, stages);
    want = record(dataset, &(run_options){.workers = 1});
    T_EQ(want.end, SLUICE_END_OF_DATA);
    for (uint32_t workers = 2; workers < 5; workers++) {
        tape got = record(dataset, &(run_options){.workers = workers, .device = devices[1]});

        check_equal_tapes(&got, &want, "workers");
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

/* ---- bad samples ----------------------------------------------------------------------------- */

static void bad_followers_are_bad_samples(void)
{
    static const struct {
        const char *record;
        const char *words;
    } bad[] = {
        {"absent.ppm\t0\tm.pgm\t\t", "absent.ppm: cannot open"},
        {"a.ppm\t0\tabsent.pgm\t\t", "mask: absent.pgm: cannot open"},
        {"a.ppm\t0\tsmall.pgm\t\t", "the mask is 1x1, its image 40x30"},
        {"a.ppm\t0\ta.ppm\t\t", "mask: a mask in a PPM file: its values are colours"},
        {"a.ppm\t0\tj.jpg\t\t", "mask: a mask in a JPEG file: its compression is lossy"},
        {"a.ppm\t0\tm.pgm\t40,0,40.5,30\t1", "boxes: box 1, 40,0,40.5,30, is wholly outside"},
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "small.pgm", "P5 1 1 255\nx");
    make_jpeg(folder, "j.jpg", LIST_WIDTH, LIST_HEIGHT, 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *head = "image\tlabel\tmask:mask\tboxes:boxes[3]\tc:i32[3]@boxes\n"
                           "a.ppm\t3\tm.pgm\t\t\n";
        char list[400];
        sluice_dataset *dataset;
        tape got;

        snprintf(list, sizeof(list), "%s%s\n", head, bad[i].record);
        dataset = list_dataset(folder, list, "| decode | center_crop 8 | batch 1");
        got = record(dataset, &(run_options){.workers = 1});
        T_TRUE(got.end < 0 && got.batches == 1);
        T_CONTAINS(got.error, bad[i].words);
        free(got.bytes);
        got = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}});
        T_EQ(got.end, SLUICE_END_OF_DATA);
        T_EQ(got.errors.zeroed, 1);
        free(got.bytes);
        sluice_dataset_destroy(dataset);
    }
}

#ifdef SLI_HAVE_PNG
/* A palette's positions and small gray values are the numbers of classes, not colours. */
static void masks_of_png_files_are_indices(void)
{
    static const struct {
        int colour;
        int depth;
    } kinds[] = {
        {PNG_COLOR_TYPE_PALETTE, 8}, {PNG_COLOR_TYPE_PALETTE, 4},   {PNG_COLOR_TYPE_PALETTE, 1},
        {PNG_COLOR_TYPE_GRAY, 8},    {PNG_COLOR_TYPE_GRAY, 2},      {PNG_COLOR_TYPE_GRAY, 16},
        {PNG_COLOR_TYPE_RGB, 8},     {PNG_COLOR_TYPE_RGB_ALPHA, 8},
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const png_recipe recipe = {.width = LIST_WIDTH,
                                   .height = LIST_HEIGHT,
                                   .colour = kinds[i].colour,
                                   .depth = kinds[i].depth,
                                   .interlaced = i % 2 == 1,
                                   .transparent = i == 1,
                                   .seed = (uint32_t)i};
        const bool is_good = i < 5;
        size_t size = 0;
        uint8_t *bytes = png_make(&recipe, &size);
        engine_run run;

        t_write_file(t_path(folder, "m.png"), bytes, size);
        free(bytes);
        open_own(&run,
                 list_dataset(folder, "image\tmask:mask\na.ppm\tm.png\n", "| decode | batch 1"),
                 &(run_options){.workers = 1});
        T_STATUS(next_batch(&run), is_good ? SLUICE_OK : SLUICE_E_UNSUPPORTED);
        for (uint32_t p = 0; is_good && p < LIST_WIDTH * LIST_HEIGHT; p++) {
            T_EQ(((const uint8_t *)column_row(&run, "mask", 0))[p],
                 png_sample(&recipe, p % LIST_WIDTH, p / LIST_WIDTH, 0));
        }
        close_run(&run);
    }
}
#endif

/* ---- folders --------------------------------------------------------------------------------- */

/* Writes an image and its mask to photos and masks, by these names. */
static void write_photo(const char *folder, const char *image, const char *mask)
{
    char name[60];
    char other[60];

    snprintf(name, sizeof(name), "photos/%s", image);
    snprintf(other, sizeof(other), "masks/%s", mask);
    t_write_file(t_path(folder, "photos/notes.txt"), "x", 1);
    t_write_file(t_path(folder, "masks/notes.txt"), "x", 1);
    write_pair(folder, name, other);
}

static void masks_are_found_by_the_names_of_images(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char text[900];
    engine_run run;

    write_photo(folder, "b \"2\".ppm", "b \"2\".pgm");
    write_photo(folder, "a.b.ppm", "a.b.PGM");
    write_photo(folder, "a-1.PPM", "a-1.pgm");
    snprintf(text, sizeof(text), "image_list %s/photos masks=%s/masks | decode | batch 3", folder,
             folder);
    dataset = parsed(text);
    T_STR(name_of(dataset, 0), "a-1.PPM");
    T_STR(name_of(dataset, 1), "a.b.ppm");
    T_STR(name_of(dataset, 2), "b \"2\".ppm");
    open_run(&run, dataset, &(run_options){.workers = 2});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 3; row++) {
        const uint8_t *mask = column_row(&run, "mask", row);

        T_EQ(mask[5 * LIST_WIDTH + 7], class_of(7, 5));
    }
    close_run(&run);
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "image_list %s/photos | decode | batch 3", folder);
    dataset = parsed(text);
    T_EQ(dataset->schema.column_count, 1);
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

static void refused_folder(const char *folder, const char *arguments, const char *words)
{
    sluice_dataset *dataset = NULL;
    char text[900];

    snprintf(text, sizeof(text), "image_list %s/photos %s", folder, arguments);
    T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), words);
}

static void folders_that_do_not_fit_are_refused(void)
{
#if !defined(SLI_HAVE_PNG)
    T_SKIP("the library has no PNG");
#endif
    char folder[300];
    char masks[400];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    snprintf(masks, sizeof(masks), "masks=%s/masks", folder);
    t_write_file(t_path(folder, "photos/notes.txt"), "x", 1);
    refused_folder(folder, "", "photos has no files with extensions jpg,");
    write_photo(folder, "a.ppm", "a.pgm");
    refused_folder(folder, "root=/", "root= needs a list");
    write_pair(folder, "photos/b.ppm", "unused.pgm");
    write_pair(folder, "photos/c.ppm", "unused.pgm");
    refused_folder(folder, masks, "photos/b.ppm has no mask of the same name in");
    refused_folder(folder, masks, "(3 images, 1 masks)");
    write_photo(folder, "b.ppm", "b.pgm");
    write_photo(folder, "c.ppm", "c.pgm");
    write_pair(folder, "unused.ppm", "masks/bb.pgm");
    refused_folder(folder, masks, "masks/bb.pgm has no image of the same name in");
    write_pair(folder, "photos/bb.ppm", "masks/bb.png");
    refused_folder(folder, masks, "bb.pgm and bb.png in");
    write_list(folder, "photos.tsv", "a.ppm\n");
    {
        sluice_dataset *dataset = NULL;
        char text[900];

        snprintf(text, sizeof(text), "image_list %s/photos.tsv %s", folder, masks);
        T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "masks= needs a folder of images");
        snprintf(text, sizeof(text), "image_list %s/missing %s", folder, masks);
        T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_IO);
        T_CONTAINS(sluice_last_error(), "missing: cannot open");
    }
}

/* They are read, but a list that came with data should not leave its folder unnoticed. */
static void paths_that_lead_up_are_said_once(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    const char *logged;
    char *text = NULL;

    write_pair(folder, "a.ppm", "m.pgm");
    kit_log_start(NULL, NULL);
    dataset = list_dataset(folder, "image\tmask:mask\ttext:text[9]\na.ppm\tm.pgm\t../x\n", "");
    T_OK(sluice_dataset_sample_name(dataset, 0, &text));
    T_STR(kit_log_stop(), "");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);

    kit_log_start(NULL, NULL);
    dataset = list_dataset(folder,
                           "image\tmask:mask\ttext:text[9]\na.ppm\tm.pgm\t\n"
                           "a.ppm\tx/../m.pgm\t\n../a.ppm\tm.pgm\t\n",
                           "");
    T_OK(sluice_dataset_sample_name(dataset, 0, &text));
    logged = kit_log_stop();
    T_CONTAINS(logged, "list.tsv: 2 of 3 records have a path with .., the first x/../m.pgm: ");
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

const t_test source_image_list_tests[] = {
    T_TEST(paths_that_lead_up_are_said_once),
    T_TEST(masks_are_found_by_the_names_of_images),
    T_TEST(folders_that_do_not_fit_are_refused),
    T_TEST(columns_are_what_the_header_says),
    T_TEST(lists_of_other_programs_are_read),
    T_TEST(a_list_without_a_header_is_paths_and_labels),
    T_TEST(blanks_in_a_header_are_ignored),
    T_TEST(bad_lists_say_where),
    T_TEST(masks_and_boxes_follow_every_geometry),
    T_TEST(boxes_are_moved_clipped_and_dropped),
    T_TEST(boxes_may_have_other_forms),
    T_TEST(followers_change_nothing_else),
    T_TEST(bad_followers_are_bad_samples),
#ifdef SLI_HAVE_PNG
    T_TEST(masks_of_png_files_are_indices),
#endif
    T_END,
};
