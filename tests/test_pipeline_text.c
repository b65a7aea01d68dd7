/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdlib.h>

#include <sluice/transforms.h>

#include "alloc_int.h"
#include "rng_int.h"
#include "stage.h"
#include "status_int.h"
#include "testing.h"

/* ---- helpers ------------------------------------------------------------------------------- */

static sluice_dataset *parsed(const char *text)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st != SLUICE_OK) {
        T_FAIL_("'%.200s' cannot be parsed: %.900s", text, sluice_last_error());
    }
    return dataset;
}

/* The description, in a static buffer of its own for each of two calls. */
static const char *described(sluice_dataset *dataset)
{
    static char buffers[2][20000];
    static int next;
    char *buffer = buffers[next++ % 2];
    char *text = NULL;

    T_OK(sluice_dataset_describe(dataset, &text));
    T_TRUE(strlen(text) < sizeof(buffers[0]));
    snprintf(buffer, sizeof(buffers[0]), "%s", text);
    sluice_string_free(text);
    return buffer;
}

static void check_description(const char *text, const char *want)
{
    sluice_dataset *dataset = parsed(text);

    T_STR(described(dataset), want);
    sluice_dataset_destroy(dataset);
}

/* describe(parse(describe(d))) is describe(d). */
static void check_round_trip(sluice_dataset *dataset)
{
    const char *first = described(dataset);
    sluice_dataset *again = parsed(first);

    T_STR(described(again), first);
    sluice_dataset_destroy(again);
}

static void check_refused(const char *text, const char *words)
{
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(dataset);
    T_CONTAINS(sluice_last_error(), words);
}

/* ---- good texts ---------------------------------------------------------------------------- */

#define SYNTHETIC "synthetic samples=1000 shape=224,224,3 classes=10"

static void every_element_of_the_grammar_is_read(void)
{
    static const struct {
        const char *text;
        const char *want;
    } good[] = {
        {"synthetic", SYNTHETIC},
        {"  \t\n synthetic\n", SYNTHETIC},
        {"synthetic 5 4,3,1 2", "synthetic samples=5 shape=4,3,1 classes=2"},
        {"synthetic 5 classes=2", "synthetic samples=5 shape=224,224,3 classes=2"},
        {"synthetic classes=2 samples=5", "synthetic samples=5 shape=224,224,3 classes=2"},
        {"synthetic|take 3|skip 1", SYNTHETIC " | take n=3 | skip n=1"},
        {"synthetic # all of it\n| take 3 # few\n", SYNTHETIC " | take n=3"},
        {"# begins with words\n#and more\nsynthetic", SYNTHETIC},
        {"synthetic |# right behind\ntake 3", SYNTHETIC " | take n=3"},
        {"synthetic\n| shuffle\n| batch\n  7", SYNTHETIC " | shuffle seed=run | batch n=7 "
                                                         "drop_remainder=false"},
        {"'synthetic' \"samples\"=5", "synthetic samples=5 shape=224,224,3 classes=10"},
        {"synthetic s'amp'les='5'", "synthetic samples=5 shape=224,224,3 classes=10"},
        {"image_folder 'a b'", "image_folder dir='a b' extensions=jpg,jpeg,png"},
        {"image_folder \"a b\"", "image_folder dir='a b' extensions=jpg,jpeg,png"},
        {"image_folder a' 'b\" c\"", "image_folder dir='a b c' extensions=jpg,jpeg,png"},
        {"image_folder \"it's\"", "image_folder dir='it'\"'\"'s' extensions=jpg,jpeg,png"},
        {"image_folder 'a|b#c=d$e(f)'", "image_folder dir='a|b#c=d$e(f)' "
                                        "extensions=jpg,jpeg,png"},
        {"image_folder a#b", "image_folder dir='a#b' extensions=jpg,jpeg,png"},
        {"image_folder ''", "image_folder dir='' extensions=jpg,jpeg,png"},
        {"image_folder dir=a=b", "image_folder dir='a=b' extensions=jpg,jpeg,png"},
        {"image_folder =a", "image_folder dir='=a' extensions=jpg,jpeg,png"},
        {"image_folder x png", "image_folder dir=x extensions=png"},
        {"image_folder 'two\nlines'", "image_folder dir='two\nlines' extensions=jpg,jpeg,png"},
        {"cifar10 d test", "cifar10 dir=d split=test"},
        {"synthetic | normalize 0.5 0.25", SYNTHETIC " | normalize mean=0.5 std=0.25 range=1 "
                                                     "dtype=f32 offload=auto"},
        {"synthetic | normalize std=1,2,3 mean=1e-1,.2,-0.3",
         SYNTHETIC " | normalize mean=0.1,0.2,-0.3 std=1,2,3 range=1 dtype=f32 offload=auto"},
        {"synthetic | normalize cifar10 dtype=bf16 offload=device",
         SYNTHETIC " | normalize mean=0.4914,0.4822,0.4465 std=0.247,0.2435,0.2616 range=1 "
                   "dtype=bf16 offload=device"},
        {"synthetic | shard", SYNTHETIC " | shard rank=run world=run"},
        {"synthetic | shard none", SYNTHETIC " | shard rank=none world=run"},
        {"synthetic | shard 1 2", SYNTHETIC " | shard rank=1 world=2"},
        {"synthetic | shuffle 7", SYNTHETIC " | shuffle seed=7"},
        {"synthetic | split val 0.1 test=0.2", SYNTHETIC " | split part=val fraction=0.1 seed=0 "
                                                         "test=0.2"},
        {"synthetic | resize 5 | center_crop 4,3", SYNTHETIC " | resize size=5 | center_crop "
                                                             "size=4,3"},
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        check_description(good[i].text, good[i].want);
    }
}

static void variables_come_from_the_environment(void)
{
    setenv("SLUICE_TEST_DIR", "/data sets/a|b#c=d'", 1);
    setenv("SLUICE_TEST_EMPTY", "", 1);
    check_description("image_folder ${SLUICE_TEST_DIR}/x",
                      "image_folder dir='/data sets/a|b#c=d'\"'\"'/x' extensions=jpg,jpeg,png");
    check_description("image_folder \"${SLUICE_TEST_DIR} y\"",
                      "image_folder dir='/data sets/a|b#c=d'\"'\"' y' extensions=jpg,jpeg,png");
    check_description("image_folder '${SLUICE_TEST_DIR}'",
                      "image_folder dir='${SLUICE_TEST_DIR}' extensions=jpg,jpeg,png");
    check_description("image_folder a${SLUICE_TEST_EMPTY}b",
                      "image_folder dir=ab extensions=jpg,jpeg,png");
    check_description("image_folder ${SLUICE_TEST_EMPTY}",
                      "image_folder dir='' extensions=jpg,jpeg,png");
    unsetenv("SLUICE_TEST_DIR");
    unsetenv("SLUICE_TEST_EMPTY");
    check_refused("image_folder ${SLUICE_TEST_DIR}", "no variable SLUICE_TEST_DIR");
}

static void descriptions_read_back_to_themselves(void)
{
    static const char *const texts[] = {
        SYNTHETIC,
        "synthetic 1000000000000000 65535,1,4 2147483647",
        "synthetic 0 1,1,1 1",
        "image_folder / extensions=JPG",
        "cifar10 . train",
        "synthetic | shuffle 18446744073709551614",
        "synthetic | shuffle 18446744073709551615",
        "synthetic | shard 0 1 | shard 4294967292 4294967293 | shard none 5",
        "synthetic | split train 1e-9 seed=18446744073709551615 | split test 0.3333333333333333",
        "synthetic | split val 0.1 7 0.9 | split val 1",
        "synthetic | take 0 | skip 18446744073709551615 | repeat 1000000000",
        "image_folder x | decode gray 1 | resize 65535,1",
        "image_folder x | decode max_pixels=4294836225",
        "synthetic | random_crop 1,65535 padding=65535",
        "synthetic | random_resized_crop 7 1e-300,1 0.00010000000000000002,10000",
        "synthetic | random_resized_crop 7,9 scale=0.3,0.3 ratio=1,1",
        ("synthetic | random_horizontal_flip 0 | random_horizontal_flip 1 | "
         "random_horizontal_flip 0.1 offload=host"),
        "synthetic | normalize 0,-1e-320,0.30000000000000004 1e-5,3,-2 dtype=f16",
        "synthetic | normalize 127.5 127.5 255",
        "synthetic | normalize imagenet offload=device",
        "synthetic | to_dtype f32 scale=true | to_chw device | to_dtype bf16",
        "synthetic | to_dtype u8",
        "synthetic | batch 1048576 drop_remainder=true",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        sluice_dataset *dataset = parsed(texts[i]);

        check_round_trip(dataset);
        sluice_dataset_destroy(dataset);
    }
}

static void paths_of_any_bytes_read_back(void)
{
    static const char *const odd[] = {
        "a b",      " ",         "'",     "\"",      "'\"'\"'", "a=b", "=",          "|",
        "#",        "a #b",      "$HOME", "${HOME}", "$",       "(a)", "a\tb",       "a\nb",
        "a\vb",     "a\fb",      "a\rb",  "\x01",    "\x7f",    "\\",  "über/Größe", "図/画像",
        "\xff\xfe", "dir=x | y", "a,b",   "*?[~]",   "run",
    };
    uint64_t state = 1;

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        sluice_dataset *dataset = NULL;

        T_OK(sluice_dataset_image_folder(odd[i], NULL, &dataset));
        check_round_trip(dataset);
        sluice_dataset_destroy(dataset);
    }
    for (int i = 0; i < 3000; i++) {
        sluice_dataset *dataset = NULL;
        char path[32];
        size_t length = (state = sli_mix64(state + 1)) % sizeof(path);

        for (size_t k = 0; k < length; k++) {
            path[k] = (char)(1 + (state = sli_mix64(state + 1)) % 255);
        }
        path[length] = '\0';
        T_OK(sluice_dataset_image_folder(path, NULL, &dataset));
        check_round_trip(dataset);
        sluice_dataset_destroy(dataset);
    }
}

static void a_path_reaches_the_source_as_it_was_written(void)
{
    const char *folder = t_path(t_folder(), "a b|#'\"$=(ü)");
    char text[2000] = "";
    sluice_dataset *dataset = NULL;
    sluice_dataset *again = NULL;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    char bytes[5 * 3073];

    memset(bytes, 0, sizeof(bytes));
    snprintf(text, sizeof(text), "%s/test_batch.bin", folder);
    t_write_file(text, bytes, sizeof(bytes));
    T_OK(sluice_dataset_cifar10(folder, "test", &dataset));
    again = parsed(described(dataset));
    T_OK(sluice_dataset_batch(again, 2, false));
    T_OK(sluice_dataset_inspect(again, &info));
    T_EQ(info.samples, 5);
    sluice_dataset_destroy(again);
    sluice_dataset_destroy(dataset);
}

/* ---- texts and calls ----------------------------------------------------------------------- */

static sluice_status call_shuffle(sluice_dataset *d)
{
    return sluice_dataset_shuffle(d, 5);
}
static sluice_status call_shuffle_run(sluice_dataset *d)
{
    return sluice_dataset_shuffle(d, SLUICE_SEED_OF_RUN);
}
static sluice_status call_shard(sluice_dataset *d)
{
    return sluice_dataset_shard(d, 2, 3);
}
static sluice_status call_shard_run(sluice_dataset *d)
{
    return sluice_dataset_shard(d, SLUICE_OF_RUN, SLUICE_OF_RUN);
}
static sluice_status call_split(sluice_dataset *d)
{
    return sluice_dataset_split(d, "val", 0.25, 9, 0.5);
}
static sluice_status call_take(sluice_dataset *d)
{
    return sluice_dataset_take(d, 7);
}
static sluice_status call_skip(sluice_dataset *d)
{
    return sluice_dataset_skip(d, 8);
}
static sluice_status call_repeat(sluice_dataset *d)
{
    return sluice_dataset_repeat(d, 9);
}
static sluice_status call_batch(sluice_dataset *d)
{
    return sluice_dataset_batch(d, 10, true);
}
static sluice_status call_resize(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 30, 40);
}
static sluice_status call_resize_short(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 30, 0);
}
static sluice_status call_center_crop(sluice_dataset *d)
{
    return sluice_dataset_center_crop(d, 3, 4);
}
static sluice_status call_random_crop(sluice_dataset *d)
{
    return sluice_dataset_random_crop(d, 3, 4, 2);
}
static sluice_status call_rrc(sluice_dataset *d)
{
    const double scale[] = {0.1, 0.2};
    const double ratio[] = {0.5, 2};

    return sluice_dataset_random_resized_crop(d, 3, 4, scale, ratio);
}
static sluice_status call_rrc_default(sluice_dataset *d)
{
    return sluice_dataset_random_resized_crop(d, 3, 4, NULL, NULL);
}
static sluice_status call_flip(sluice_dataset *d)
{
    return sluice_dataset_random_horizontal_flip(d, 0.75);
}
static sluice_status call_normalize(sluice_dataset *d)
{
    const double mean[] = {1, 2, 3};
    const double std[] = {4, 5, 6};

    return sluice_dataset_normalize(d, mean, std, 3, 255, SLUICE_F16);
}
static sluice_status call_to_dtype(sluice_dataset *d)
{
    return sluice_dataset_to_dtype(d, SLUICE_BF16, true);
}
static sluice_status call_to_chw(sluice_dataset *d)
{
    return sluice_dataset_to_chw(d);
}
static sluice_status call_offload(sluice_dataset *d)
{
    sluice_status st = sluice_dataset_to_chw(d);

    return st == SLUICE_OK ? sluice_dataset_offload(d, "host") : st;
}

static const struct {
    const char *text;
    sluice_status (*build)(sluice_dataset *dataset);
} stage_calls[] = {
    {"shuffle 5", call_shuffle},
    {"shuffle", call_shuffle_run},
    {"shard 2 3", call_shard},
    {"shard", call_shard_run},
    {"shard none", sluice_dataset_shard_none},
    {"split val 0.25 seed=9 test=0.5", call_split},
    {"take 7", call_take},
    {"skip 8", call_skip},
    {"repeat 9", call_repeat},
    {"batch 10 drop_remainder=true", call_batch},
    {"resize 30,40", call_resize},
    {"resize 30", call_resize_short},
    {"center_crop 3,4", call_center_crop},
    {"random_crop 3,4 padding=2", call_random_crop},
    {"random_resized_crop 3,4 scale=0.1,0.2 ratio=0.5,2", call_rrc},
    {"random_resized_crop 3,4", call_rrc_default},
    {"random_horizontal_flip 0.75", call_flip},
    {"normalize 1,2,3 4,5,6 range=255 dtype=f16", call_normalize},
    {"to_dtype bf16 scale=true", call_to_dtype},
    {"to_chw", call_to_chw},
    {"to_chw offload=host", call_offload},
};
enum { STAGE_CALLS = sizeof(stage_calls) / sizeof(stage_calls[0]) };

static void check_same(const char *text, sluice_dataset *called)
{
    sluice_dataset *read = parsed(text);
    const char *want = described(read);

    T_STR(described(called), want);
    sluice_dataset_destroy(called);
    sluice_dataset_destroy(read);
}

static void texts_and_calls_build_the_same(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_image_folder("x", "png,jpg", &dataset));
    check_same("image_folder x png,jpg", dataset);
    T_OK(sluice_dataset_image_folder("x", NULL, &dataset));
    check_same("image_folder x", dataset);
    T_OK(sluice_dataset_cifar10("x", "test", &dataset));
    check_same("cifar10 x test", dataset);
    T_OK(sluice_dataset_image_folder("x", NULL, &dataset));
    T_OK(sluice_dataset_decode(dataset, "gray", 0));
    check_same("image_folder x | decode gray", dataset);
    T_OK(sluice_dataset_image_folder("x", NULL, &dataset));
    T_OK(sluice_dataset_decode(dataset, "rgb", 5));
    check_same("image_folder x | decode max_pixels=5", dataset);
    for (int i = 0; i < STAGE_CALLS; i++) {
        char text[200];

        snprintf(text, sizeof(text), "synthetic 100 40,50,3 7 | %s", stage_calls[i].text);
        T_OK(sluice_dataset_synthetic(100, 40, 50, 3, 7, &dataset));
        T_OK(stage_calls[i].build(dataset));
        check_same(text, dataset);
    }
}

/* ---- wrong texts --------------------------------------------------------------------------- */

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
    {"", 0, "want the name of a source here"},
    {"  # only words", 14, "want the name of a source here"},
    {"| take 3", 0, "want the name of a source here"},
    {"synthetic |", 11, "want the name of a stage here"},
    {"synthetic |  \t ", 11, "want the name of a stage here"},
    {"synthetic || take 3", 11, "want the name of a stage here"},
    {"synthetic | | take 3", 12, "want the name of a stage here"},
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
    {"synthetic | take", 16, "take: n is missing (how many to keep)"},
    {"synthetic | take | skip 3", 17, "take: n is missing"},
    {"image_folder", 12, "image_folder: dir is missing"},
    {"synthetic | split train", 23, "split: fraction is missing"},
    {"synthetic 1 2,2,1 3 4", 20, "synthetic takes 3 arguments, '4' is one too many"},
    {"synthetic | take 3 4", 19, "take takes 1 argument, '4' is one too many"},
    {"synthetic 5 samples=6", 12, "synthetic: samples is given twice"},
    {"synthetic | shuffle seed=1 seed=1", 27, "shuffle: seed is given twice"},
    {"synthetic samples=5 4,4,1", 20, "'4,4,1' without a name stands after arguments with one"},
    {"synthetic | take n=5 6", 21, "'6' without a name stands after arguments with one"},
    /* numbers */
    {"synthetic | take 9x", 17, "take: n=9x: want a whole number"},
    {"synthetic | take -3", 17, "take: n=-3: want a whole number"},
    {"synthetic | take +3", 17, "want a whole number"},
    {"synthetic | take 1.5", 17, "want a whole number"},
    {"synthetic | take ''", 17, "take: n=: want a whole number"},
    {"synthetic | take n=", 17, "take: n=: want a whole number"},
    {"synthetic | take 18446744073709551616", 17, "want a whole number"},
    {"synthetic | take 0x10", 17, "want a whole number"},
    {"synthetic | random_horizontal_flip 1e", 35, "p=1e: want a number"},
    {"synthetic | random_horizontal_flip nan", 35, "p=nan: want a number"},
    {"synthetic | random_horizontal_flip inf", 35, "p=inf: want a number"},
    {"synthetic | random_horizontal_flip 1e999", 35, "want a number"},
    {"synthetic | random_horizontal_flip 0,5", 35, "want a number"},
    {"synthetic | random_horizontal_flip 1.01", 12, "p=1.01: want 0 to 1"},
    {"synthetic | random_horizontal_flip -0.5", 12, "p=-0.5: want 0 to 1"},
    {"synthetic | repeat 0", 12, "repeat: n=0: want 1 to 1000000000"},
    {"synthetic | batch 0", 12, "batch: n=0: want 1 to 1048576"},
    {"synthetic | batch 1048577", 12, "want 1 to 1048576"},
    {"synthetic 2000000000000000", 0, "samples=2e+15: want 0 to 1e+15"},
    {"synthetic | resize 0", 12, "resize: size=0: want 1 to 65535"},
    {"synthetic | resize 5,0", 19, "want HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize 1,2,3", 19, "want HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize 5,", 19, "want HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize ,5", 19, "want HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | resize 99999999999", 19, "want HEIGHT or HEIGHT,WIDTH"},
    {"synthetic | center_crop 65536", 12, "want 1 to 65535"},
    {"synthetic shape=4,4", 0, "shape: want HEIGHT,WIDTH,CHANNELS"},
    {"synthetic shape=4,4,5", 0, "at most 4 channels"},
    {"synthetic shape=65536,4,3", 0, "want sides from 1 to 65535"},
    {"synthetic shape=65535,65535,3", 0, "more than 2^31 values"},
    {"synthetic shape=4,,3", 10, "whole numbers with commas"},
    {"synthetic shape=1,1,1,1,1,1,1", 10, "whole numbers with commas"},
    {"synthetic classes=0", 0, "classes=0: want 1 to 2147483647"},
    {"synthetic | normalize 1,2 3", 12, "as many numbers in std as in mean"},
    {"synthetic | normalize 1,2,3,4,5 1", 22, "numbers with commas, at most 4"},
    {"synthetic | normalize imagenett", 12, "want imagenet, cifar10, or numbers"},
    {"synthetic | normalize imagenet 1", 12, "imagenet brings its own std and range"},
    {"synthetic | normalize 0.5 0", 12, "a std of 0 divides by nothing"},
    {"synthetic | normalize 127 128", 12, "write range=255"},
    {"synthetic | normalize 0.5 0.01 range=255", 12, "leave range=255 out"},
    {"synthetic | normalize 1,2 1,2", 12, "2 numbers for an image of 3 channels"},
    {"synthetic | random_resized_crop 8 scale=1", 12, "scale: want LOW,HIGH"},
    {"synthetic | split train 0", 12, "split: fraction=0"},
    {"synthetic | split val 0.6 test=0.5", 12, "1 at most together"},
    {"synthetic | shard 3 3", 12, "shard: rank 3 of world 3"},
    {"synthetic | shard 0 0", 12, "world=0: want at least 1"},
    {"synthetic | shard 0 none", 12, "world cannot be none"},
    {"synthetic | shard x", 18, "a whole number, run or none"},
    {"synthetic | shuffle maybe", 20, "a whole number or run"},
    /* words out of a list */
    {"synthetic | split most 0.5", 18, "part=most: want one of train val test"},
    {"image_folder x | decode cmyk", 24, "mode=cmyk: want one of rgb gray"},
    {"cifar10 x valid", 10, "want one of train test"},
    {"synthetic | to_chw offload=gpu", 19, "want one of auto host device"},
    {"synthetic | to_dtype f64", 21, "dtype=f64: want u8, i32, f32, f16 or bf16"},
    {"synthetic | to_dtype i32", 12, "want f32, f16, bf16 or u8"},
    {"synthetic | batch 4 drop_remainder=yes", 20, "want true or false"},
    {"image_folder x extensions=.jpg", 0, "without dots"},
    {"image_folder x extensions=jpg,", 0, "want such as jpg,jpeg,png"},
    {"image_folder x extensions=''", 0, "want such as jpg,jpeg,png"},
    /* places */
    {"take 3", 0, "take stands after a source"},
    {"decode", 0, "decode stands after a source"},
    {"synthetic | synthetic", 12, "a source stands at the beginning, once"},
    {"synthetic | batch 3 | take 3", 22, "take stands before batch"},
    {"synthetic | batch 3 | batch 3", 22, "batch stands before batch, which is the last"},
    {"synthetic | shuffle | split train 0.5", 22, "split stands before shuffle"},
    {"synthetic | shard | split train 0.5", 20, "split stands before shard"},
    {"synthetic | repeat 2 | split train 0.5", 23, "split stands before repeat"},
    {"synthetic | to_chw | center_crop 3", 21, "put it before random_horizontal_flip"},
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
    {"image_folder $HOME", 13, "want ${NAME} after a dollar sign"},
    {"image_folder a${HOME", 14, "want ${NAME} after a dollar sign"},
    {"image_folder ${}", 13, "want ${NAME} after a dollar sign"},
    {"image_folder \"x${SLUICE_NO_SUCH}\"", 15, "no variable SLUICE_NO_SUCH"},
    {"image_folder (x)", 13, "parentheses are reserved"},
    {"image_folder x)", 14, "parentheses are reserved"},
    {"synthetic | rotate angle=uniform(-10,10)", 12, "no stage 'rotate'"},
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
    size_t length;

    /* A source and 63 stages are the most. */
    strcpy(text, "synthetic");
    for (int i = 1; i < 64; i++) {
        strcat(text, " | take 3");
    }
    sluice_dataset_destroy(parsed(text));
    length = strlen(text);
    strcat(text, " | skip 3");
    check_refused(text, "more than 64 stages");
    T_EQ(caret_of(sluice_last_error(), line, sizeof(line)), 50);
    T_TRUE(length > 100);

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
    check_refused(text, "...: want a whole number");
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

/* ---- errors of calls ----------------------------------------------------------------------- */

static sluice_status bad_split(sluice_dataset *d)
{
    return sluice_dataset_split(d, "most", 0.5, 0, 0);
}
static sluice_status bad_split_null(sluice_dataset *d)
{
    return sluice_dataset_split(d, NULL, 0.5, 0, 0);
}
static sluice_status bad_split_nan(sluice_dataset *d)
{
    return sluice_dataset_split(d, "val", 0.5, 0, (double)NAN);
}
static sluice_status bad_shard(sluice_dataset *d)
{
    return sluice_dataset_shard(d, 4, 4);
}
static sluice_status bad_repeat(sluice_dataset *d)
{
    return sluice_dataset_repeat(d, 0);
}
static sluice_status bad_batch(sluice_dataset *d)
{
    return sluice_dataset_batch(d, 0, false);
}
static sluice_status bad_decode(sluice_dataset *d)
{
    return sluice_dataset_decode(d, "rgba", 0);
}
static sluice_status bad_decode_null(sluice_dataset *d)
{
    return sluice_dataset_decode(d, NULL, 0);
}
static sluice_status bad_decode_place(sluice_dataset *d)
{
    return sluice_dataset_decode(d, "rgb", 0);
}
static sluice_status bad_resize(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 0, 3);
}
static sluice_status bad_resize_huge(sluice_dataset *d)
{
    return sluice_dataset_resize(d, 3, 70000);
}
static sluice_status bad_rrc(sluice_dataset *d)
{
    const double scale[] = {0.5, (double)NAN};

    return sluice_dataset_random_resized_crop(d, 3, 3, scale, NULL);
}
static sluice_status bad_flip(sluice_dataset *d)
{
    return sluice_dataset_random_horizontal_flip(d, (double)NAN);
}
static sluice_status bad_normalize_null(sluice_dataset *d)
{
    return sluice_dataset_normalize(d, NULL, NULL, 3, 1, SLUICE_F32);
}
static sluice_status bad_normalize_many(sluice_dataset *d)
{
    const double five[] = {1, 1, 1, 1, 1};

    return sluice_dataset_normalize(d, five, five, 5, 1, SLUICE_F32);
}
static sluice_status bad_normalize_none(sluice_dataset *d)
{
    const double one[] = {1};

    return sluice_dataset_normalize(d, one, one, 0, 1, SLUICE_F32);
}
static sluice_status bad_normalize_inf(sluice_dataset *d)
{
    const double mean[] = {(double)INFINITY};
    const double one[] = {1};

    return sluice_dataset_normalize(d, one, mean, 1, 1, SLUICE_F32);
}
static sluice_status bad_normalize_range(sluice_dataset *d)
{
    const double one[] = {1};

    return sluice_dataset_normalize(d, one, one, 1, (double)NAN, SLUICE_F32);
}
static sluice_status bad_normalize_dtype(sluice_dataset *d)
{
    const double one[] = {1};

    return sluice_dataset_normalize(d, one, one, 1, 1, SLUICE_I32);
}
static sluice_status bad_to_dtype(sluice_dataset *d)
{
    return sluice_dataset_to_dtype(d, (sluice_dtype)77, false);
}
static sluice_status bad_offload_place(sluice_dataset *d)
{
    return sluice_dataset_offload(d, "host");
}
static sluice_status bad_offload(sluice_dataset *d)
{
    sluice_status st = sluice_dataset_to_chw(d);

    return st == SLUICE_OK ? sluice_dataset_offload(d, "moon") : st;
}
static sluice_status bad_offload_null(sluice_dataset *d)
{
    sluice_status st = sluice_dataset_to_chw(d);

    return st == SLUICE_OK ? sluice_dataset_offload(d, NULL) : st;
}

static const struct {
    sluice_status (*build)(sluice_dataset *dataset);
    const char *words;
} bad_calls[] = {
    {bad_split, "split: part=most: want one of train val test"},
    {bad_split_null, "split: part=NULL"},
    {bad_split_nan, "split: test=nan"},
    {bad_shard, "shard: rank 4 of world 4"},
    {bad_repeat, "repeat: n=0"},
    {bad_batch, "batch: n=0"},
    {bad_decode, "decode: mode=rgba: want one of rgb gray"},
    {bad_decode_null, "decode: mode=NULL"},
    {bad_decode_place, "there is no encoded image"},
    {bad_resize, "resize: size=0"},
    {bad_resize_huge, "resize: size=70000"},
    {bad_rrc, "random_resized_crop: scale: nan"},
    {bad_flip, "random_horizontal_flip: p=nan"},
    {bad_normalize_null, "want mean and std of 1 to 4 channels"},
    {bad_normalize_many, "want mean and std of 1 to 4 channels"},
    {bad_normalize_none, "as many numbers in std as in mean"},
    {bad_normalize_inf, "std: inf"},
    {bad_normalize_range, "range=nan"},
    {bad_normalize_dtype, "dtype=i32"},
    {bad_to_dtype, "to_dtype ?"},
    {bad_offload_place, "not after synthetic"},
    {bad_offload, "to_chw: offload=moon: want one of auto host device"},
    {bad_offload_null, "offload=NULL"},
};

/* The first error stays, whatever is called after it, and nothing is added any more. */
static void the_first_error_of_building_is_kept(void)
{
    for (size_t i = 0; i < sizeof(bad_calls) / sizeof(bad_calls[0]); i++) {
        sluice_dataset *dataset = NULL;
        sluice_dataset_info info = {.struct_size = sizeof(info)};
        char *text = NULL;

        T_OK(sluice_dataset_synthetic(10, 4, 4, 3, 2, &dataset));
        T_STATUS(bad_calls[i].build(dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        for (int k = 0; k < STAGE_CALLS; k++) {
            sli_fail_again(SLUICE_E_IO, "another error in between");
            T_STATUS(stage_calls[k].build(dataset), SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        }
        for (size_t k = 0; k < sizeof(bad_calls) / sizeof(bad_calls[0]); k++) {
            T_STATUS(bad_calls[k].build(dataset), SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        }
        T_STATUS(sluice_dataset_describe(dataset, &text), SLUICE_E_INVALID);
        T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
        T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad_calls[i].words);
        CU_ASSERT_PTR_NULL(text);
        sluice_dataset_destroy(dataset);
    }
}

static void null_arguments_are_refused(void)
{
    sluice_dataset *dataset = NULL;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    char *text = NULL;

    T_STATUS(sluice_dataset_parse(NULL, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_parse("synthetic", NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_image_folder(NULL, NULL, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_image_folder("x", NULL, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_cifar10(NULL, "test", &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_cifar10("x", NULL, &dataset), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_cifar10("x", "test", NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_synthetic(1, 1, 1, 1, 1, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_describe(NULL, &text), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_explain(NULL, &text), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_inspect(NULL, &info), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_offload(NULL, "auto"), SLUICE_E_INVALID);
    T_STATUS(sluice_stage_help(NULL, NULL), SLUICE_E_INVALID);
    for (int i = 0; i < STAGE_CALLS; i++) {
        T_STATUS(stage_calls[i].build(NULL), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "dataset is NULL");
    }
    T_STATUS(bad_split(NULL), SLUICE_E_INVALID);
    T_STATUS(bad_decode(NULL), SLUICE_E_INVALID);
    T_STATUS(bad_normalize_null(NULL), SLUICE_E_INVALID);
    CU_ASSERT_PTR_NULL(dataset);
    CU_ASSERT_PTR_NULL(text);
    sluice_dataset_destroy(NULL);
    dataset = parsed("synthetic | batch 1");
    T_STATUS(sluice_dataset_describe(dataset, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_explain(dataset, NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_dataset_inspect(dataset, NULL), SLUICE_E_INVALID);
    info.struct_size = 0;
    T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
    info.struct_size = sizeof(info) + 1;
    T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

/* ---- surroundings -------------------------------------------------------------------------- */

static void another_locale_changes_nothing(void)
{
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8",
                                         "fr_FR.utf8",  "fr_FR",      "ru_RU", "tr_TR.UTF-8"};
    static const char text[] = "synthetic | random_resized_crop 10 scale=0.1,0.5 | "
                               "random_horizontal_flip 0.25 | normalize 0.5,0.25,0.125 "
                               "0.30000000000000004,1e-3,1.5 dtype=f16";
    char before[1000];
    sluice_dataset *dataset = parsed(text);
    char *old = strdup(setlocale(LC_ALL, NULL));
    size_t i = 0;

    snprintf(before, sizeof(before), "%s", described(dataset));
    sluice_dataset_destroy(dataset);
    while (i < sizeof(commas) / sizeof(commas[0]) &&
           (setlocale(LC_ALL, commas[i]) == NULL || localeconv()->decimal_point[0] != ',')) {
        i++;
    }
    if (i < sizeof(commas) / sizeof(commas[0])) {
        dataset = parsed(text);
        T_STR(described(dataset), before);
        sluice_dataset_destroy(dataset);
        check_refused("synthetic | random_horizontal_flip 0,25", "p=0,25: want a number");
    }
    setlocale(LC_ALL, old);
    free(old);
    if (i == sizeof(commas) / sizeof(commas[0])) {
        T_SKIP("no locale with a decimal comma is installed");
    }
}

static void parsing_and_describing_survive_running_out_of_memory(void)
{
    static const char text[] = "image_folder 'a b' png | split val 0.25 test=0.5 | shuffle | "
                               "decode | random_resized_crop 8 | normalize imagenet | batch 4";
    int64_t passes = 0;
    sluice_status st = SLUICE_E_NO_MEMORY;

    for (; st != SLUICE_OK; passes++) {
        sluice_dataset *dataset = NULL;
        char *description = NULL;

        sli_alloc_fail_after(passes);
        st = sluice_dataset_parse(text, &dataset);
        if (st == SLUICE_OK) {
            st = sluice_dataset_describe(dataset, &description);
        }
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        T_EQ(description != NULL, st == SLUICE_OK);
        sluice_string_free(description);
        sluice_dataset_destroy(dataset);
    }
    T_TRUE(passes > 8);
}

/* A call that finds no memory is an error of building like any other. */
static void calls_keep_running_out_of_memory(void)
{
    sluice_dataset *dataset = NULL;

    sli_alloc_fail_after(0);
    T_STATUS(sluice_dataset_synthetic(1, 1, 1, 1, 1, &dataset), SLUICE_E_NO_MEMORY);
    sli_alloc_fail_after(-1);
    CU_ASSERT_PTR_NULL(dataset);
    for (int64_t passes = 0; passes < 3; passes++) {
        sli_alloc_fail_after(passes);
        T_STATUS(sluice_dataset_image_folder("x", "png", &dataset), SLUICE_E_NO_MEMORY);
        sli_alloc_fail_after(-1);
        CU_ASSERT_PTR_NULL(dataset);
    }
}

/* Names of files in a text are not touched before the dataset is used. */
static void parsing_opens_nothing(void)
{
    sluice_dataset *dataset = parsed("image_folder /no/such/folder | decode | batch 1");
    sluice_dataset_info info = {.struct_size = sizeof(info)};

    described(dataset);
    T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "/no/such/folder");
    sluice_dataset_destroy(dataset);
}

/* ---- help ---------------------------------------------------------------------------------- */

static void help_lists_every_stage_with_its_arguments(void)
{
    char *all = NULL;

    T_OK(sluice_stage_help(NULL, &all));
    for (size_t i = 0; stage_table[i] != NULL; i++) {
        const stage_def *def = stage_table[i];
        char *one = NULL;

        T_OK(sluice_stage_help(def->name, &one));
        T_EQ(strncmp(one, def->name, strlen(def->name)), 0);
        T_CONTAINS(all, one);
        for (uint32_t k = 0; k < def->param_count; k++) {
            T_CONTAINS(one, def->params[k].name);
            T_CONTAINS(one, def->params[k].help);
        }
        sluice_string_free(one);
    }
    sluice_string_free(all);
    all = NULL;
    T_STATUS(sluice_stage_help("shufle", &all), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "no stage 'shufle'; nearest is shuffle");
    CU_ASSERT_PTR_NULL(all);
}

const t_test pipeline_text_tests[] = {
    T_TEST(every_element_of_the_grammar_is_read),
    T_TEST(variables_come_from_the_environment),
    T_TEST(descriptions_read_back_to_themselves),
    T_TEST(paths_of_any_bytes_read_back),
    T_TEST(a_path_reaches_the_source_as_it_was_written),
    T_TEST(texts_and_calls_build_the_same),
    T_TEST(wrong_texts_point_at_the_place),
    T_TEST(the_caret_stands_in_the_line_of_the_error),
    T_TEST(long_lines_are_cut_around_the_place),
    T_TEST(too_much_is_refused),
    T_TEST(the_environment_can_make_a_word_too_long),
    T_TEST(the_first_error_of_building_is_kept),
    T_TEST(null_arguments_are_refused),
    T_TEST(another_locale_changes_nothing),
    T_TEST(parsing_and_describing_survive_running_out_of_memory),
    T_TEST(calls_keep_running_out_of_memory),
    T_TEST(parsing_opens_nothing),
    T_TEST(help_lists_every_stage_with_its_arguments),
    T_END,
};
