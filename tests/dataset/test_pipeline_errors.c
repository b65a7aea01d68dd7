/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong texts: what is said of them, and where the caret stands. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "testing.h"

/* The place of the caret under the shown line, and the line. */
static int caret_of(const char *error, char *line, size_t size)
{
    const char *last = strrchr(error, '\n');
    const char *before = last;

    T_TRUE(last != NULL && error[strlen(error) - 1] == '^');
    while (before > error && before[-1] != '\n') {
        before--;
    }
    T_EQ(strncmp(before, "    ", 4), 0);
    T_EQ(strncmp(last + 1, "    ", 4), 0);
    snprintf(line, size, "%.*s", (int)(last - before - 4), before + 4);
    return (int)strlen(last + 1) - 5;
}

static const struct {
    const char *text;
    int column;
    const char *words;
} wrong[] = {
    /* nothing, or nothing between bars */
    {"", 0, "the name of a source must be here"},
    {"  # only words", 14, "the name of a source must be here"},
    {"| take 3", 0, "the name of a source must be here"},
    {"synthetic |", 11, "the name of a stage must be here"},
    {"synthetic |  \t ", 11, "the name of a stage must be here"},
    {"synthetic || take 3", 11, "the name of a stage must be here"},
    {"synthetic | | take 3", 12, "the name of a stage must be here"},
    /* names */
    {"image_floder x", 0, "no stage 'image_floder'; nearest is image_folder"},
    {"synthetic | tkae 3", 12, "no stage 'tkae'; nearest is take"},
    {"synthetic | Shuffle", 12, "nearest is shuffle"},
    {"synthetic | xyzzy_frobnicate", 12, "no stage 'xyzzy_frobnicate'; `sluice help stages`"},
    {"synthetic | ''", 12, "no stage ''"},
    {"synthetic | 12", 12, "no stage '12'"},
    {"synthetic | RandomCropDecodeResize 224", 12,
     "RandomCropDecodeResize is called decode | random_resized_crop H,W here"},
    {"synthetic | crop_mirror_normalize", 12, "is called center_crop H,W | random_horizontal_flip"},
    {"ImageFolder x", 0, "ImageFolder is called image_folder DIR here"},
    {"synthetic | ToTensor", 12, "to_dtype f32 scale=true | to_chw"},
    {"synthetic | map f", 12, "the transforms themselves"},
    {"synthetic num_parallel_workers=4", 10, "num_parallel_workers is called workers, an option"},
    {"synthetic prefetch_queue_depth=2", 10, "is called slots, an option of the run"},
    {"synthetic | shard num_shards=2", 18, "num_shards is called world"},
    {"synthetic | batch 3 drop_last=true", 20, "drop_last is called drop_remainder here"},
    {"synthetic smaples=3", 10, "synthetic has no argument 'smaples'; nearest is samples"},
    {"synthetic qqqqqqqqqq=3", 10, "it takes samples shape classes"},
    {"image_folder /data=1/train", 13, "in quotes = is itself"},
    /* how many arguments */
    {"synthetic | take", 16, "take: n is missing (number of samples to keep)"},
    {"synthetic | take | skip 3", 17, "take: n is missing"},
    {"image_folder", 12, "image_folder: dir is missing"},
    {"synthetic | split train", 23, "split: fraction is missing"},
    {"synthetic 1 2,2,1 3 4", 20, "synthetic takes 3 arguments, '4' is one too many"},
    {"synthetic | take 3 4", 19, "take takes 1 argument, '4' is one too many"},
    /* a path with blanks that is not in quotes */
    {"image_folder /my pictures/train | decode", 0, "quote a path with spaces"},
    {"image_folder a b c d", 19, "cache=d must be one of"},
    {"image_folder a b c d", 19, "; quote a path with spaces"},
    {"cifar10 my data", 11, "must be one of train test; quote a path with spaces"},
    {"synthetic 5 samples=6", 12, "synthetic: samples is given twice"},
    {"synthetic | shuffle seed=1 seed=1", 27, "shuffle: seed is given twice"},
    {"synthetic samples=5 4,4,1", 20, "'4,4,1' is a positional argument after a named one"},
    {"synthetic | take n=5 6", 21, "'6' is a positional argument after a named one"},
    /* numbers */
    {"synthetic | take 9x", 17, "take: n=9x must be a whole number"},
    {"synthetic | take -3", 17, "take: n=-3 must be a whole number"},
    {"synthetic | take +3", 17, "must be a whole number"},
    {"synthetic | take 1.5", 17, "must be a whole number"},
    {"synthetic | take ''", 17, "take: n= must be a whole number"},
    {"synthetic | take n=", 17, "take: n= must be a whole number"},
    {"synthetic | take 18446744073709551616", 17, "must be a whole number"},
    {"synthetic | take 0x10", 17, "must be a whole number"},
    {"synthetic | random_horizontal_flip 1e", 35, "p=1e must be a number"},
    {"synthetic | random_horizontal_flip nan", 35, "p=nan must be a number"},
    {"synthetic | random_horizontal_flip inf", 35, "p=inf must be a number"},
    {"synthetic | random_horizontal_flip 1e999", 35, "must be a number"},
    {"synthetic | random_horizontal_flip 0,5", 35, "must be a number"},
    {"synthetic | random_horizontal_flip 1.01", 12, "p=1.01 must be from 0 to 1"},
    {"synthetic | random_horizontal_flip -0.5", 12, "p=-0.5 must be from 0 to 1"},
    {"synthetic | repeat 0", 12, "repeat: n=0 must be from 1 to 1000000000"},
    {"synthetic | batch 0", 12, "batch: n=0 must be from 1 to 1048576"},
    {"synthetic | batch 1048577", 12, "must be from 1 to 1048576"},
    {"synthetic 2000000000000000", 0, "samples=2e+15 must be from 0 to 1e+15"},
    {"synthetic | resize 0", 12, "resize: size=0 must be from 1 to 65535"},
    {"synthetic | resize 5,0", 19, "must be HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize 1,2,3", 19, "must be HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize 5,", 19, "must be HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize ,5", 19, "must be HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize 99999999999", 19, "must be HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize 5 lanczos", 21, "must be one of bilinear bicubic nearest area"},
    {"synthetic | resize 5 interpolation=bicubic", 21, "interpolation is called filter here"},
    {"synthetic | resize 5 antialias=1", 21, "must be true or false"},
    {"synthetic | resize 5 area false", 12, "use filter=nearest instead"},
    {"synthetic | random_resized_crop 5 antialias=false filter=area", 12,
     "random_resized_crop: filter=area is the mean"},
    {"synthetic | center_crop 65536", 12, "must be from 1 to 65535"},
    {"synthetic shape=4,4", 0, "shape must be HEIGHT,WIDTH,CHANNELS"},
    {"synthetic shape=4,4,5", 0, "at most 4 channels"},
    {"synthetic shape=65536,4,3", 0, "shape has 65536, and height, width and channels must be"},
    {"synthetic shape=65535,65535,3", 0, "shape has more than 2^31 - 1 values"},
    {"synthetic shape=4,,3", 10, "whole numbers with commas"},
    {"synthetic shape=1,1,1,1,1,1,1", 10, "whole numbers with commas"},
    {"synthetic classes=0", 0, "classes=0 must be from 1 to 2147483647"},
    {"synthetic | normalize 1,2 3", 12, "std must have as many numbers as mean"},
    {"synthetic | normalize 1,2,3,4,5 1", 22, "numbers with commas, at most 4"},
    {"synthetic | normalize imagenett", 12, "must be imagenet, cifar10, or numbers"},
    {"synthetic | normalize imagenet 1", 12, "std and range must not be given with imagenet"},
    {"synthetic | normalize 0.5 0", 12, "std=0 must be a number other than 0"},
    {"synthetic | normalize 127 128", 12, "write range=255"},
    {"synthetic | normalize 0.5 0.01 range=255", 12, "leave range=255 out"},
    {"synthetic | normalize 1,2 1,2", 12, "2 numbers for an image of 3 channels"},
    {"synthetic | normalize 1 1 dtype=i32", 12, "dtype=i32 must be f32, f16 or bf16"},
    {"synthetic | random_resized_crop 8 scale=1", 12, "scale must be LOW,HIGH"},
    {"synthetic | split train 0", 12, "split: fraction=0"},
    {"synthetic | split val 0.6 test=0.5", 12, "1 at most together"},
    {"synthetic | split val 0.5 test=nan", 26, "split: test=nan must be a number, from 0 to 1"},
    {"synthetic | shard 3 3", 12, "shard: rank=3 must be less than world=3"},
    {"synthetic | shard 0 0", 12, "world=0 must be at least 1"},
    {"synthetic | shard 0 none", 12, "world cannot be none"},
    {"synthetic | shard x", 18, "a whole number, run or none"},
    {"synthetic | shuffle maybe", 20, "a whole number or run"},
    /* words out of a list */
    {"synthetic | split most 0.5", 18, "part=most must be one of train val test"},
    {"image_folder x | decode cmyk", 24, "mode=cmyk must be one of rgb gray"},
    {"cifar10 x valid", 10, "must be one of train test"},
    {"synthetic | to_chw offload=gpu", 19, "must be one of auto host device"},
    {"synthetic | to_dtype f128", 21, "dtype=f128 must be u8, i8, u16, i16, u32, i32, u64"},
    {"synthetic | to_dtype f64", 12, "dtype=f64 must be f32, f16, bf16 or u8"},
    {"synthetic | to_dtype i32", 12, "must be f32, f16, bf16 or u8"},
    {"synthetic | batch 4 drop_remainder=yes", 20, "must be true or false"},
    {"image_folder x extensions=.jpg", 0, "without dots"},
    {"image_folder x extensions=jpg,", 0, "without dots, such as jpg,jpeg,png"},
    {"image_folder x extensions=''", 0, "without dots, such as jpg,jpeg,png"},
    /* places */
    {"take 3", 0, "take must come after a source"},
    {"decode", 0, "decode must come after a source"},
    {"synthetic | synthetic", 12, "a pipeline has one source, at its start"},
    {"synthetic | batch 3 | take 3", 22, "take must come before batch"},
    {"synthetic | batch 3 | batch 3", 22, "batch must come before batch, which is the last"},
    {"synthetic | shuffle | split train 0.5", 22, "split must come before shuffle"},
    {"synthetic | shard | split train 0.5", 20, "split must come before shard"},
    {"synthetic | repeat 2 | split train 0.5", 23, "split must come before repeat"},
    {"synthetic | to_chw | center_crop 3", 21,
     "works on the decoded image; put it before normalize, to_dtype and to_chw"},
    /* types */
    {"synthetic | decode", 12, "the source gives pixels already"},
    {"image_folder x | decode | decode", 26, "this is the second decode"},
    {"image_folder x | batch 3", 17, "column image is still encoded; put decode before"},
    {"image_folder x | to_chw", 17, "put decode before it"},
    {"image_folder x | resize 3", 17, "put decode before it"},
    {"image_folder x | normalize imagenet", 17, "put decode before it"},
    {"image_folder x | random_horizontal_flip", 17, "put decode before it"},
    {"image_folder x | to_dtype f32", 17, "put decode before it"},
    {"synthetic | to_chw | to_chw", 21, "is (C, H, W) already"},
    {"synthetic | to_dtype f16 | normalize imagenet", 27, "already rounded to 16 bits"},
    {"synthetic | to_dtype f16 | to_dtype f32", 27, "already rounded to 16 bits"},
    {"synthetic | to_dtype f32 | to_dtype u8", 27, "to_dtype u8: the image is f32"},
    {"synthetic | to_dtype f32 | to_dtype f32 scale=true", 27, "scale=true is for bytes"},
    /* quotes, variables, parentheses */
    {"synthetic 'abc", 10, "this quote has no end"},
    {"synthetic ab\"c d", 12, "this quote has no end"},
    {"image_folder $HOME", 13, "a dollar sign must begin ${NAME} or ${NAME:-DEFAULT}"},
    {"image_folder a${HOME", 14, "a dollar sign must begin ${NAME} or ${NAME:-DEFAULT}"},
    {"image_folder ${}", 13, "a dollar sign must begin ${NAME} or ${NAME:-DEFAULT}"},
    {"image_folder \"x${SLUICE_NO_SUCH}\"", 15, "${SLUICE_NO_SUCH} has no value"},
    {"image_folder (x)", 13, "parentheses are reserved"},
    {"image_folder x)", 14, "parentheses are reserved"},
    {"concat (synthetic) (synthetic | shufle)", 32, "no stage 'shufle'"},
    {"concat (synthetic) (synthetic | decode)", 32, "decode must come after the group"},
    {"concat (synthetic | shard)", 20, "shard must come after the group"},
    {"concat (synthetic) (synthetic shape=1,1,1)", 19,
     "part 2: its column 1 is image u8 (1, 1, 1)"},
    {"concat (synthetic) (synthetic | drop image)", 19, "part 2: its column 1 is label i32"},
    {"concat (synthetic) (synthetic | drop label)", 19, "part 2: it lacks the column label"},
    {"concat (synthetic | drop label) (synthetic)", 32, "part 1 has no column label"},
    {"concat (synthetic | geometry)", 7, "column geometry is not of the source"},
    {"concat (synthetic)  (synthetic", 20, "this parenthesis has no end"},
    {"concat (synthetic) )", 19, "parentheses are reserved"},
    {"concat ()", 8, "the name of a source must be here"},
    {"concat (synthetic |)", 19, "the name of a stage must be here"},
    {"concat", 6, "concat: parts is missing"},
    {"concat 3", 7, "concat takes parts in parentheses"},
    {"concat parts=3", 7, "concat takes parts in parentheses"},
    {"concat 2:(synthetic)", 9, "concat has no weights"},
    {"zip end:(synthetic)", 8, "zip has no weights and no end:"},
    {"mix 0.7x:(synthetic)", 4, "the weight before the colon must be a number such as 3 or 0.7"},
    {"mix 2000000:(synthetic)", 4, "the weight before the colon must be a number such as 3 or 0.7"},
    {"mix .5:(synthetic)", 4, "the weight before the colon must be a number such as 3 or 0.7"},
    {"mix 0.0000000001:(synthetic)", 4,
     "the weight before the colon must be a number such as 3 or 0.7"},
    {"mix 3(synthetic)", 4, "a word before a part must be WEIGHT: or WEIGHT:end:"},
    {"mix 3:stop:(synthetic)", 4, "a word before a part must be WEIGHT: or WEIGHT:end:"},
    {"mix 0:(synthetic)", 6, "its weight is 0, and must be above 0"},
    {"mix 0.123457:(synthetic) 1:(synthetic)", 0, "add up to more than 1000000"},
    {"zip (synthetic) (synthetic)", 16, "part 2: there is a column image already"},
    {"zip (synthetic | shuffle)", 4, "shuffle would give each sample another partner"},
    {"zip (mix (synthetic))", 4, "the order of mix differs between passes"},
    {"zip (concat (synthetic | shuffle))", 4, "the order of concat differs between passes"},
    {"synthetic (synthetic)", 10, "parentheses are reserved"},
    {"synthetic | concat (synthetic)", 12, "a pipeline has one source, at its start"},
    {"mix (synthetic) | split train 0.5", 18, "split cannot come after mix"},
    {"concat (synthetic | shuffle) | balance", 31, "balance cannot come after concat"},
    {"concat (synthetic | take 3) | subset x", 30, "subset cannot come after concat"},
    {"zip (zip (zip (zip (zip (zip (zip (zip (zip (synthetic", 44,
     "more than 8 groups inside one another"},
    {"synthetic | turn angle=uniform(-10,10)", 12, "no stage 'turn'"},
};

static void wrong_texts_point_at_the_place(void)
{
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        sluice_dataset *dataset = NULL;
        sluice_status st = sluice_dataset_parse(wrong[i].text, &dataset);
        char line[200] = "";
        int column;

        if (st != SLUICE_E_INVALID || dataset != NULL) {
            T_FAIL_("'%s' is %s", wrong[i].text, sluice_status_name(st));
        }
        if (strstr(sluice_last_error(), wrong[i].words) == NULL) {
            T_FAIL_("'%s': want \"%s\" in: %.900s", wrong[i].text, wrong[i].words,
                    sluice_last_error());
        }
        column = caret_of(sluice_last_error(), line, sizeof(line));
        if (column != wrong[i].column) {
            T_FAIL_("'%s': the caret is at %d, want %d", wrong[i].text, column, wrong[i].column);
        }
        T_STR(line, wrong[i].text);
    }
}

static void the_caret_stands_in_the_line_of_the_error(void)
{
    char line[200];

    check_refused("synthetic\n| take 3\n| tkae 4 # why\n| batch 2\n", "tkae");
    T_EQ(caret_of(sluice_last_error(), line, sizeof(line)), 2);
    T_STR(line, "| tkae 4 # why");
    check_refused("synthetic\n| take\n\n", "n is missing");
    T_EQ(caret_of(sluice_last_error(), line, sizeof(line)), 6);
    T_STR(line, "| take");
    /* One blank for each character, whatever its bytes; a tab stays one. */
    check_refused("image_folder 'Größe 図' | tkae 4", "tkae");
    T_EQ(caret_of(sluice_last_error(), line, sizeof(line)), 25);
    check_refused("synthetic\t| tkae 4", "tkae");
    T_CONTAINS(sluice_last_error(), "\n             \t  ^");
}

/* Of a long line what is around the place is shown, and no character is cut in two. */
static void long_lines_are_cut_around_the_place(void)
{
    char text[3000] = "image_folder '";
    char line[300];

    for (int i = 0; i < 300; i++) {
        strcat(text, "図");
    }
    strcat(text, "' | tkae 4");
    for (int i = 0; i < 300; i++) {
        strcat(text, "ü");
    }
    for (size_t cut = 1; cut < 4; cut++) {
        check_refused(text, "tkae");
        T_TRUE(caret_of(sluice_last_error(), line, sizeof(line)) >= 16);
        T_TRUE(strlen(line) <= 100 && strlen(line) >= 90);
        T_CONTAINS(line, "図' | tkae 4");
        T_TRUE(((unsigned char)line[0] & 0xC0) != 0x80);
        T_TRUE(((unsigned char)line[strlen(line) - 1] & 0xC0) == 0x80);
        memmove(text + 14 + cut, text + 14, strlen(text + 14) + 1);
        memset(text + 14, 'x', cut);
    }
}

static void too_much_is_refused(void)
{
    static char text[20000];
    char line[200];

    /* A source and 63 stages are the most. */
    strcpy(text, "synthetic");
    for (int i = 1; i < 64; i++) {
        strcat(text, " | take 3");
    }
    sluice_dataset_destroy(parsed(text));
    strcat(text, " | skip 3");
    check_refused(text, "more than 64 stages");
    T_EQ(caret_of(sluice_last_error(), line, sizeof(line)), 50);

    strcpy(text, "image_folder ");
    memset(text + 13, 'x', 4095);
    text[13 + 4095] = '\0';
    sluice_dataset_destroy(parsed(text));
    memset(text + 13, 'x', 5000);
    text[13 + 5000] = '\0';
    check_refused(text, "a word of more than 4095 bytes");
    T_EQ(caret_of(sluice_last_error(), line, sizeof(line)), 13);
    memset(text, 'x', 5000);
    text[5000] = '\0';
    check_refused(text, "a word of more than 4095 bytes");
    text[3000] = '\0';
    check_refused(text, "no stage 'xxxx");
    T_CONTAINS(sluice_last_error(), "`sluice help stages` lists them");
    text[0] = '\0';
    strcat(text, "synthetic | take ");
    memset(text + 17, '9', 4000);
    text[17 + 4000] = '\0';
    check_refused(text, "... must be a whole number");
    memset(text + 17, 'k', 4000);
    text[17 + 2000] = '=';
    check_refused(text, "take has no argument 'kkkk");
}

static void the_environment_can_make_a_word_too_long(void)
{
    static char value[5001];

    memset(value, 'v', sizeof(value) - 1);
    setenv("SLUICE_TEST_LONG", value, 1);
    check_refused("image_folder x${SLUICE_TEST_LONG}", "a word of more than 4095 bytes");
    unsetenv("SLUICE_TEST_LONG");
}

const t_test pipeline_errors_tests[] = {
    T_TEST(wrong_texts_point_at_the_place),
    T_TEST(the_caret_stands_in_the_line_of_the_error),
    T_TEST(long_lines_are_cut_around_the_place),
    T_TEST(too_much_is_refused),
    T_TEST(the_environment_can_make_a_word_too_long),
    T_END,
};
