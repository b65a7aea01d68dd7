/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments without effect: errors where they never have one, else said by explain. */
#include "testing.h"

#include <sys/stat.h>

#include <sluice/dataset.h>

static const char synthetic[] = "synthetic samples=20 shape=8,8,3 | ";

static void arguments_that_contradict_others_are_errors(void)
{
    static const struct {
        const char *stages;
        const char *says;
    } cases[] = {
        {"split train 0.5 test=0.1", "split: test=0.1 has no effect: test= is the share that"},
        {"split test 0.5 test=0.1", "split: test=0.1 has no effect"},
        {"shard none 5", "shard: world=5 has no effect: with rank=none every rank gets every"},
        {"gaussian_blur 1 sigma=3", "gaussian_blur: sigma=3,3 has no effect"},
        {"rand_augment num_ops=0 magnitude=3", "rand_augment: magnitude=3 has no effect"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = NULL;
        char text[200];

        snprintf(text, sizeof(text), "%s%s | batch 2", synthetic, cases[i].stages);
        T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].says);
    }
}

static void arguments_without_effect_here_are_said(void)
{
    static const struct {
        const char *stages;
        const char *says; /* NULL: nothing */
    } cases[] = {
        {"shuffle buffer=17", "without effect: shuffle buffer=17 (the source is read by index"},
        {"resize 4 filter=nearest antialias=false", "without effect: resize antialias=false ("},
        {"random_resize 4,5 filter=nearest antialias=false | resize 9,9",
         "without effect: random_resize antialias=false ("},
        {"scale_jitter 9 filter=nearest antialias=false | resize 9,9",
         "without effect: scale_jitter antialias=false ("},
        {"random_shortest_size 4,5 filter=nearest antialias=false | resize 9,9",
         "without effect: random_shortest_size antialias=false ("},
        {"pad_image 2 mode=edge fill=7", "without effect: pad_image fill=7 (this mode continues"},
        {"random_crop 4 fill=7",
         "without effect: random_crop fill=7 (there is no padding; fill is"},
        {"random_crop 4 padding=0,1 fill=7", NULL},
        {"random_crop 4 pad_if_needed=true fill=7", NULL},
        {"rotate 10 mask_fill=3", "without effect: rotate mask_fill=3 (there are no masks)"},
        {"random_invert p=0", "without effect: random_invert p=0 (the stage is never applied)"},
        {"cache 1M shared=true", "without effect: cache shared=true (there is one rank)"},
        {"shuffle buffer=17 | random_invert p=0", "), random_invert p=0 ("},
        {"device", "without effect: device (no stage of the image follows)"},
        {"device | random_invert", NULL},
        {"shuffle buffer=1000", NULL},
        {"split val 0.5 test=0.1 | shuffle | resize 4 filter=nearest | pad_image 1 fill=3", NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = NULL;
        char text[200];
        char *explained = NULL;

        snprintf(text, sizeof(text), "%s%s | batch 2", synthetic, cases[i].stages);
        T_OK(sluice_dataset_parse(text, &dataset));
        T_OK(sluice_dataset_explain(dataset, &explained));
        if (cases[i].says != NULL) {
            T_CONTAINS(explained, cases[i].says);
        } else {
            T_TRUE(strstr(explained, "without effect") == NULL);
        }
        sluice_string_free(explained);
        sluice_dataset_destroy(dataset);
    }
}

/* Any stage that resizes lets the decoder scale. */
static void fast_scale_without_a_resize_is_said(void)
{
    static const char *const stages[] = {"center_crop 4", "resize 4", "random_resize 5,9",
                                         "scale_jitter 9", "random_shortest_size 5,9"};
    const char *folder = t_folder();
    static const char head[] = "P6\n8 8\n255\n";
    char image[sizeof(head) - 1 + 192];

    memset(image, 7, sizeof(image));
    memcpy(image, head, sizeof(head) - 1);
    t_write_file(t_path(folder, "x.ppm"), image, sizeof(image));
    t_write_file(t_path(folder, "list.tsv"), "image\nx.ppm\n", 12);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        sluice_dataset *dataset = NULL;
        char text[600];
        char *explained = NULL;

        snprintf(text, sizeof(text),
                 "image_list %s/list.tsv | decode fast_scale=true | %s | center_crop 4 | batch 1",
                 folder, stages[i]);
        T_OK(sluice_dataset_parse(text, &dataset));
        T_OK(sluice_dataset_explain(dataset, &explained));
        T_EQ(strstr(explained, "without effect: decode fast_scale=true (no resize") != NULL,
             i == 0);
        sluice_string_free(explained);
        sluice_dataset_destroy(dataset);
    }
}

static void an_index_of_images_that_are_not_cropped_is_said(void)
{
    static const char *const stages[] = {"resize 4", "center_crop 4"};
    const char *folder = t_folder();
    const char *class = t_path(folder, "a");
    static const char head[] = "P6\n8 8\n255\n";
    char image[sizeof(head) - 1 + 192];

    T_EQ(mkdir(class, 0700), 0);
    memset(image, 7, sizeof(image));
    memcpy(image, head, sizeof(head) - 1);
    t_write_file(t_path(class, "x.ppm"), image, sizeof(image));
    for (size_t i = 0; i < 2; i++) {
        sluice_dataset *dataset = NULL;
        char text[600];
        char *explained = NULL;

        snprintf(text, sizeof(text), "image_folder %s index=%s/index | decode | %s | batch 1",
                 folder, folder, stages[i]);
        T_OK(sluice_dataset_parse(text, &dataset));
        T_OK(sluice_dataset_explain(dataset, &explained));
        T_EQ(strstr(explained, "without effect: image_folder index=") != NULL, i == 0);
        sluice_string_free(explained);
        sluice_dataset_destroy(dataset);
    }
}

const t_test idle_arguments_tests[] = {
    T_TEST(arguments_that_contradict_others_are_errors),
    T_TEST(arguments_without_effect_here_are_said),
    T_TEST(fast_scale_without_a_resize_is_said),
    T_TEST(an_index_of_images_that_are_not_cropped_is_said),
    T_END,
};
