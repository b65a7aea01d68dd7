/* SPDX-License-Identifier: Apache-2.0 */
/* box_format: formats of boxes, with and without the class. */
#include <stdio.h>
#include <string.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "testing.h"

/* torchvision's convert_bounding_box_format() of x0, y0, x1, y1, divided by the image's size. */
static void by_torchvision(const char *format, const float b[4], float w, float h, float to[4])
{
    const float ended[4] = {b[2] - b[0], b[3] - b[1], 0, 0};

    to[0] = b[0];
    to[1] = b[1];
    to[2] = ended[0];
    to[3] = ended[1];
    if (strcmp(format, "cxcywh") == 0) {
        to[0] = b[0] + 0.5F * ended[0];
        to[1] = b[1] + 0.5F * ended[1];
    } else if (strcmp(format, "xyxy") == 0) {
        to[2] = b[2];
        to[3] = b[3];
    }
    for (int k = 0; k < 4; k++) {
        to[k] /= k % 2 == 0 ? w : h;
    }
}

static void formats_are_those_of_torchvision(void)
{
    static const struct {
        const char *arguments;
        const char *format;
        float width;
        float height;
    } cases[] = {
        {"", "cxcywh", 21, 14},
        {"xywh", "xywh", 21, 14},
        {"xyxy", "xyxy", 21, 14},
        {"cxcywh normalized=false", "cxcywh", 1, 1},
        {"xywh normalized=false", "xywh", 1, 1},
    };

    for (uint64_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *geometry = "crop 28,30 top=1 left=3 | resize 14,21 | random_horizontal_flip 1";
        engine_run runs[2];
        const float *pixels;
        const float *got;
        char stages[200];

        open_list(&runs[0], LIST_OF_BOXES, "decode", geometry, i);
        snprintf(stages, sizeof(stages), "%s | box_format %s", geometry, cases[i].arguments);
        open_list(&runs[1], LIST_OF_BOXES, "decode", stages, i);
        pixels = column_row(&runs[0], "boxes", 0);
        got = column_row(&runs[1], "boxes", 0);
        T_EQ(*(const int32_t *)column_row(&runs[1], "boxes_length", 0), 2);
        for (uint32_t k = 0; k < 2; k++) {
            float want[4];

            by_torchvision(cases[i].format, pixels + (size_t)4 * k, cases[i].width, cases[i].height,
                           want);
            for (uint32_t n = 0; n < 4; n++) {
                T_NEAR((double)got[4 * k + n], (double)want[n], 2e-6 * (1 + (double)want[n]));
            }
        }
        T_TRUE(is_zero(got + 8, 4 * sizeof(*got))); /* the third box is outside */
        close_run(&runs[0]);
        close_run(&runs[1]);
    }
}

/* darknet's truth of a sample: x, y, w, h and the class, zeros after the last box. */
static void the_class_is_the_fifth_number(void)
{
    static const float want[3][5] = {
        {0.05F, 0.5F, 0.1F, 1, 1}, {0.5F, 0.5F, 0.5F, 2.0F / 3, 2}, {0.95F, 0.05F, 0.1F, 0.1F, 3}};
    engine_run run;
    const float *got;

    open_list(&run, LIST_OF_BOXES, "decode", "box_format classes=c", 1);
    got = column_row(&run, "boxes", 0);
    T_EQ(run.plan->seen[3].shape[1], 5);
    for (uint32_t i = 0; i < 15; i++) {
        T_NEAR((double)got[i], (double)want[i / 5][i % 5], 1e-7);
    }
    T_EQ(((const int32_t *)column_row(&run, "c", 0))[2], 3);
    close_run(&run);
    open_list(&run, LIST_OF_BOXES, "decode",
              "crop 30,20 | sanitize_boxes min_size=5 | box_format classes=c | one_hot c 4 | "
              "drop image,mask",
              1);
    got = column_row(&run, "boxes", 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    T_TRUE(got[0] == 0.75F && got[1] == 0.5F && got[2] == 0.5F && got[4] == 2);
    T_TRUE(is_zero(got + 5, 10 * sizeof(*got)));
    got = column_row(&run, "c", 0); /* (3, 4) */
    T_TRUE(got[2] == 1 && got[0] == 0 && got[1] == 0 && got[3] == 0);
    T_TRUE(is_zero(got + 4, 8 * sizeof(*got)));
    close_run(&run);
}

/* Layout, conversions, flips and where the stage stands do not matter. */
static void it_stands_anywhere_after_geometry(void)
{
    static const char *const stages[] = {
        "center_crop 20,16 | box_format | random_horizontal_flip 1 | to_chw | project boxes",
        "center_crop 20,16 | to_chw | box_format | random_horizontal_flip 1 | project boxes",
        "center_crop 20,16 | random_horizontal_flip 1 | skip_empty | box_format | project boxes",
        ("center_crop 20,16 | random_horizontal_flip 1 | rename boxes b | box_format column=b | "
         "rename b boxes | project boxes"),
    };
    float first[12];

    for (uint64_t i = 0; i < 4; i++) {
        engine_run run;

        open_list(&run, LIST_OF_BOXES, "decode", stages[i], i);
        if (i == 0) {
            memcpy(first, column_row(&run, "boxes", 0), sizeof(first));
            T_TRUE(first[0] == 0.5F && first[2] == 1); /* box 2, columns 0 to 20 of the crop */
        }
        T_TRUE(memcmp(column_row(&run, "boxes", 0), first, sizeof(first)) == 0);
        close_run(&run);
    }
}

static void what_does_not_fit_is_refused(void)
{
    static const refused_case bad[] = {
        {"box_format yolo", "format=yolo must be one of cxcywh xywh xyxy"},
        {"box_format xyxy normalized=false", "is what boxes are without the stage"},
        {"box_format column=b", "box_format: there is no column 'b'; there are image"},
        {"box_format column=c", "box_format: c is a column that belongs to boxes or points, and "
                                "must be a column of boxes"},
        {"box_format classes=d", "box_format: there is no column 'd'"},
        {"box_format classes=label", "box_format: classes=label is a plain column, i32"},
        {"cast c f32 | box_format classes=c", "f32 (3), and must have one integer for each box"},
        {"one_hot c 4 | box_format classes=c", "f32 (3, 4), and must have one integer for each"},
        {"drop image | box_format", "box_format: there is no image"},
        {"box_format | box_format", "box_format: boxes is a plain column"},
        {"random_resize 8,16 | box_format",
         "box_format comes after random_resize, which gives images of random sizes"},
        {"box_format | random_iou_crop", "random_iou_crop comes after box_format"},
        {"box_format | letterbox 9",
         "letterbox comes after box_format, which works on the boxes of "
         "the final image; put letterbox before box_format"},
    };

    check_refused_stages(decoded_list, bad, sizeof(bad) / sizeof(bad[0]));
}

/* f32 does not have all integers from 2^24 on. */
static void a_class_that_f32_does_not_have_makes_a_bad_sample(void)
{
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    (void)batches_to_error(
        list_dataset(folder,
                     "image\tboxes:boxes[2]\tc:i32[2]@boxes\na.ppm\t1,1,9,9;2,2,9,9\t7,16777217\n",
                     "| decode | box_format classes=c | batch 1"),
        &(run_options){.workers = 1}, SLUICE_E_CORRUPT,
        "c of box 2 is 16777217, and must be from -16777216 to 16777216");
}

const t_test box_format_tests[] = {
    T_TEST(formats_are_those_of_torchvision),
    T_TEST(the_class_is_the_fifth_number),
    T_TEST(it_stands_anywhere_after_geometry),
    T_TEST(what_does_not_fit_is_refused),
    T_TEST(a_class_that_f32_does_not_have_makes_a_bad_sample),
    T_END,
};
