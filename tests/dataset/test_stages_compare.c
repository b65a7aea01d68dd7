/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two texts of stages give the same bits, and what is said where they do not. */
#include "alloc_int.h"
#include "log_kit.h"
#include "plan_int.h"
#include "testing.h"

#define NORMALIZE "normalize mean=0.5 std=0.5 range=1 dtype=f32"
#define FLIP      "random_horizontal_flip p=0.5"

/* Canonical texts are the same where there is no difference, and only there. */
static bool are_canonically_same(const char *a, const char *b)
{
    char *texts[2];
    bool same;

    T_OK(sli_stages_canonical(a, &texts[0]));
    T_OK(sli_stages_canonical(b, &texts[1]));
    same = strcmp(texts[0], texts[1]) == 0;
    sluice_string_free(texts[0]);
    sluice_string_free(texts[1]);
    return same;
}

static void texts_with_the_same_bits_are_equal(void)
{
    static const char *const same[][2] = {
        {"", ""},
        {"shuffle", "shuffle"},
        /* defaults written out, also of arguments that an older text did not have */
        {"shuffle seed=run buffer=1000", "shuffle"},
        {"decode mode=rgb max_pixels=100000000 fast_scale=false", "decode"},
        {"center_crop size=5", "center_crop size=5,5"},
        {"random_crop size=5 padding=0", "random_crop 5,5"},
        {"jpeg_quality quality=5,1e+01", "jpeg_quality 5,10"}, /* as once written */
        {"random_apply 0.5 (rotate degrees=-2e+01)", "random_apply 0.5 (rotate -20)"},
        {"random_crop size=5 padding=2", "random_crop 5,5 2 false 0 0"},
        {"resize size=64 filter=bilinear antialias=true", "resize 64 max_size=0"},
        {"random_resized_crop 5", "random_resized_crop 5,5 scale=0.08,1"},
        /* where conversions are done */
        {NORMALIZE " offload=auto", NORMALIZE " offload=device"},
        {"to_chw offload=host", "to_chw"},
        /* where conversions that only move pixels stand */
        {NORMALIZE " | to_chw", "to_chw | " NORMALIZE},
        {FLIP " | " NORMALIZE " | to_chw", "to_chw | " NORMALIZE " | " FLIP},
        {FLIP " | to_chw | random_horizontal_flip p=0.25",
         FLIP " | random_horizontal_flip p=0.25 | to_chw"},
        {"gaussian_blur 3 | " FLIP, FLIP " | gaussian_blur 3"},
        {"random_apply (random_invert) | " FLIP, FLIP " | random_apply (random_invert)"},
        {FLIP " swap=0:1 | random_vertical_flip 0.5",
         "random_vertical_flip 0.5 | " FLIP " swap=0:1"},
        {NORMALIZE " | random_erasing | to_chw", NORMALIZE " | to_chw | random_erasing"},
        {FLIP " | random_erasing | to_chw", "to_chw | " FLIP " | random_erasing"},
        {"random_apply (" FLIP " offload=host | center_crop 5)",
         "random_apply (" FLIP " | center_crop 5,5)"},
        {"random_order (random_choice (" FLIP " offload=host | center_crop 5))",
         "random_order (random_choice (" FLIP " | center_crop 5,5))"},
        /* parts of groups */
        {"mix 7:(synthetic samples=3) 3:end:(synthetic) | shuffle",
         "mix 0.7:(synthetic samples=3) 0.3:end:(synthetic) | shuffle seed=run"},
        /* where stages of order stand among those of pixels */
        {"shuffle | decode | take n=5", "decode | shuffle | take n=5"},
    };

    for (size_t i = 0; i < COUNT(same); i++) {
        if (sli_stages_compare(same[i][0], same[i][1]) != SLUICE_OK ||
            sli_stages_compare(same[i][1], same[i][0]) != SLUICE_OK) {
            T_FAIL_("'%s' and '%s': %s", same[i][0], same[i][1], sluice_last_error());
        }
        T_TRUE(are_canonically_same(same[i][0], same[i][1]));
    }
}

static void differences_are_named(void)
{
    static const char *const long_text =
        "shuffle seed=run buffer=1000 | decode mode=rgb max_pixels=100000000 fast_scale=false | "
        "random_resized_crop size=224 scale=0.08,1 ratio=0.75,1.3333333333333333 filter=bilinear "
        "antialias=true | random_horizontal_flip p=0.5 offload=auto | normalize "
        "mean=0.485,0.456,0.406 std=0.229,0.224,0.225 range=1 dtype=f32 offload=auto | to_chw";
    static const char *const other_text =
        "shuffle | decode | random_resized_crop size=224 antialias=false | random_horizontal_flip "
        "p=0.25 | normalize mean=0.485,0.456,0.406 std=0.229,0.224,0.225 dtype=f16 | to_chw";
    const char *const differ[][3] = {
        {"resize size=64", "resize size=64,64", "resize: size was 64 and is 64,64 now"},
        {"resize size=64", "resize size=64 max_size=96", "resize: max_size was 0 and is 96 now"},
        {"shuffle seed=7", "shuffle", "shuffle: seed was 7 and is run now"},
        {"center_crop size=5", "center_crop size=5,6", "center_crop: size was 5,5 and is 5,6 now"},
        {"gaussian_blur 3 | resize 8", "resize 8 | gaussian_blur 3", "gaussian_blur"},
        {"random_horizontal_flip | center_crop 5", "center_crop 5 | random_horizontal_flip",
         "there is now \"random_horizontal_flip p=0.5 offload=auto\" after center_crop"},
        {"random_horizontal_flip | random_invert | resize 5",
         "random_invert | random_horizontal_flip | resize 5", "random_invert"},
        {"random_horizontal_flip | rotate 9", "rotate 9 | random_horizontal_flip", "rotate"},
        {"random_vertical_flip | random_erasing", "random_erasing | random_vertical_flip",
         "erasing"},
        {FLIP " | " NORMALIZE " | random_erasing", NORMALIZE " | random_erasing | " FLIP,
         "erasing"},
        {FLIP " | random_apply (random_order (elastic 20 3))",
         "random_apply (random_order (elastic 20 3)) | " FLIP, "random_apply"},
        {FLIP " swap=0:1 | random_vertical_flip swap=1:2",
         "random_vertical_flip swap=1:2 | " FLIP " swap=0:1", "random_vertical_flip"},
        {"random_apply (resize 5)", "random_apply (resize 5,5)",
         "random_apply: stages was (resize"},
        {"random_choice (center_crop 5) (resize 5)", "random_choice (resize 5) (center_crop 5)",
         "random_choice: stages was (center_crop"},
        {"center_crop 5 | rotate 9 | device", "rotate 9 | center_crop 5 | device", "rotate"},
        {"random_crop size=5 padding=2", "random_crop 5 2,1 true 9",
         "random_crop: padding was 2 and is 2,1 now; random_crop: pad_if_needed was false and is "
         "true now; random_crop: fill was 0 and is 9 now"},
        {long_text, other_text,
         "random_resized_crop: antialias was true and is false now; normalize: dtype was f32 and "
         "is "
         "f16 now; random_horizontal_flip: p was 0.5 and is 0.25 now"},
        {"shuffle | decode", "shuffle | split part=train fraction=0.5 | decode",
         "there is now \"split part=train fraction=0.5 seed=0 test=0\" after shuffle"},
        {"concat (image_folder dir=- | take n=3) (image_folder dir=-)",
         "concat (image_folder dir=-) (image_folder dir=-)",
         "concat: parts was (image_folder dir=- | take n=3) (image_folder dir=-) and is "},
        {"mix 7:(synthetic) 3:(synthetic)", "mix 7:(synthetic) 2:(synthetic)",
         "mix: parts was 7:(synthetic) 3:(synthetic) and is 7:(synthetic) 2:(synthetic) now"},
        {"take n=3", "", "there was \"take n=3\" after the source"},
        {"take n=3 | skip n=1", "skip n=1 | take n=3",
         "there was \"take n=3\" after the source; there is now \"take n=3\" after skip"},
        {"take n=1 | take n=2 | skip n=1", "take n=1 | skip n=1",
         "there was \"take n=2\" after take"},
        {FLIP " | random_horizontal_flip p=0.25", "random_horizontal_flip p=0.25 | " FLIP,
         "p was 0.5 and is 0.25 now; random_horizontal_flip: p was 0.25 and is 0.5 now"},
    };

    for (size_t i = 0; i < COUNT(differ); i++) {
        T_STATUS(sli_stages_compare(differ[i][0], differ[i][1]), SLUICE_E_INVALID);
        T_TRUE(!are_canonically_same(differ[i][0], differ[i][1]));
        T_CONTAINS(sluice_last_error(), "the pipeline differs: ");
        T_CONTAINS(sluice_last_error(), differ[i][2]);
    }
}

/* Of a later version, or damaged: there is no more than the text. */
static void texts_that_cannot_be_read_are_shown_where_they_differ(void)
{
    T_STATUS(sli_stages_compare("shuffle | sharpen 3 | to_chw", "shuffle | to_chw"),
             SLUICE_E_INVALID);
    T_STR(sluice_last_error(), "the pipeline differs: it was \" sharpen 3 | to_chw\" and is \" "
                               "to_chw\" now, from there on");
    T_OK(sli_stages_compare("sharpen 3", "sharpen 3"));
    T_STATUS(sli_stages_compare("'", "shuffle"), SLUICE_E_INVALID);
}

#define SCALED "decode mode=rgb max_pixels=100000000 fast_scale=true | "

/* Crops that 0.1 padded with pixels of the resized image, and scaled decoding before a crop. */
static void stages_that_have_changed_since_0_1_are_found(void)
{
    static const char *const changed[][2] = {
        {"resize size=24 | center_crop size=12 | random_crop size=12 padding=4",
         "random_crop after resize and center_crop pads with zeros now"},
        {"random_resized_crop size=9 | random_crop size=8 padding=0 | center_crop size=7,9",
         "center_crop after resize and random_crop"},
        {"resize size=9 | shuffle | center_crop size=6 | center_crop size=5 | center_crop size=6",
         "center_crop after resize and center_crop"},
        {SCALED "center_crop size=22 | resize size=5",
         "fast_scale=true decodes at a smaller scale now if center_crop is before resize"},
        {SCALED "random_crop size=22 padding=1 | random_crop size=2 | random_resized_crop size=9",
         "now if random_crop is before random_resized_crop"},
    };
    static const char *const equal[] = {
        "",
        "center_crop size=12 | center_crop size=20 | random_crop size=12 padding=4",
        "resize size=24 | center_crop size=30 | center_crop size=30,20",
        "resize size=24 | random_crop size=12 padding=4 | random_crop size=12 padding=0",
        "resize size=24 | center_crop size=12 | resize size=20 | center_crop size=22",
        "decode | center_crop size=22 | resize size=5",
        SCALED "random_crop size=22 | resize size=5 | center_crop size=9 | resize size=4",
        "sharpen 3 | resize size=24 | center_crop size=12 | center_crop size=13",
    };

    for (size_t i = 0; i < COUNT(changed); i++) {
        T_STATUS(sli_stages_check_changed(changed[i][0]), SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), changed[i][1]);
    }
    for (size_t i = 0; i < COUNT(equal); i++) {
        T_OK(sli_stages_check_changed(equal[i]));
    }
    sli_alloc_fail_after(0);
    T_STATUS(sli_stages_check_changed("center_crop size=22"), SLUICE_E_NO_MEMORY);
    sli_alloc_fail_after(-1);
}

static void running_out_of_memory_is_no_difference(void)
{
    sluice_status st = SLUICE_E_NO_MEMORY;
    int64_t passes = 0;

    for (; st == SLUICE_E_NO_MEMORY; passes++) {
        sli_alloc_fail_after(passes);
        st = sli_stages_compare("shuffle | center_crop 5 | take 3", "shuffle | center_crop 6,7");
        sli_alloc_fail_after(-1);
    }
    T_EQ(st, SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "size was 5,5 and is 6,7 now");
    T_TRUE(passes > 5);
}

static void functions_without_a_version_are_named(void)
{
    const char *log;

    kit_log_start(NULL, NULL);
    sli_stages_warn_unversioned("map name=fade version=2 | filter name='only good' version=0 | "
                                "center_crop 5 | map name=blur");
    log = kit_log_stop();
    T_CONTAINS(log, "filter only good has no version, so a resumed run cannot tell");
    T_CONTAINS(log, "map blur has no version");
    T_TRUE(strstr(log, "fade") == NULL && strstr(log, "center_crop") == NULL);
    kit_log_start(NULL, NULL);
    sli_stages_warn_unversioned("map name=blur | no_such_stage");
    sli_stages_warn_unversioned("");
    T_STR(kit_log_stop(), "");
}

const t_test stages_compare_tests[] = {
    T_TEST(texts_with_the_same_bits_are_equal),
    T_TEST(differences_are_named),
    T_TEST(texts_that_cannot_be_read_are_shown_where_they_differ),
    T_TEST(stages_that_have_changed_since_0_1_are_found),
    T_TEST(running_out_of_memory_is_no_difference),
    T_TEST(functions_without_a_version_are_named),
    T_END,
};
