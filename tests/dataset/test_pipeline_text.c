/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines as text: what is read, how it is described, and that both are the same. */
#include <ctype.h>
#include <stdlib.h>

#include "alloc_int.h"
#include "comma_locale.h"
#include "dataset_kit.h"
#include "rng_int.h"
#include "stage_table.h"
#include "testing.h"
#include "text_int.h"

#if defined(SLI_HAVE_PNG)
#define EXTENSIONS "jpg,jpeg,jpe,jfif,jif,png,bmp,gif,webp,tif,tiff,ppm,pgm,pbm,pnm"
#else
#define EXTENSIONS "jpg,jpeg,jpe,jfif,jif,bmp,gif,webp,tif,tiff,ppm,pgm,pbm,pnm"
#endif

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

/* ---- good texts ------------------------------------------------------------------------------ */

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
        {"synthetic | jpeg_quality 5,10", SYNTHETIC " | jpeg_quality quality=5,10"},
        {"synthetic|take 3|skip 1", SYNTHETIC " | take n=3 | skip n=1"},
        {"synthetic # all of it\n| take 3 # few\n", SYNTHETIC " | take n=3"},
        {"# begins with words\n#and more\nsynthetic", SYNTHETIC},
        {"synthetic |# right behind\ntake 3", SYNTHETIC " | take n=3"},
        {"synthetic\n| shuffle\n| batch\n  7",
         SYNTHETIC " | shuffle seed=run buffer=1000 | batch n=7 "
                   "drop_remainder=false"},
        {"'synthetic' \"samples\"=5", "synthetic samples=5 shape=224,224,3 classes=10"},
        {"synthetic s'amp'les='5'", "synthetic samples=5 shape=224,224,3 classes=10"},
        {"image_folder 'a b'",
         "image_folder dir='a b' extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder \"a b\"",
         "image_folder dir='a b' extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder a' 'b\" c\"",
         "image_folder dir='a b c' extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder \"it's\"",
         "image_folder dir='it'\"'\"'s' extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder 'a|b#c=d$e(f)'", "image_folder dir='a|b#c=d$e(f)' "
                                        "extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder a#b",
         "image_folder dir='a#b' extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder ''",
         "image_folder dir='' extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder dir=a=b",
         "image_folder dir='a=b' extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder =a",
         "image_folder dir='=a' extensions=" EXTENSIONS " cache=keep recursive=false"},
        {"image_folder x png", "image_folder dir=x extensions=png cache=keep recursive=false"},
        {"image_folder 'two\nlines'",
         "image_folder dir='two\nlines' extensions=" EXTENSIONS " cache=keep recursive=false"},
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
        {"synthetic | shuffle 7", SYNTHETIC " | shuffle seed=7 buffer=1000"},
        {"synthetic | split val 0.1 test=0.2", SYNTHETIC " | split part=val fraction=0.1 seed=0 "
                                                         "test=0.2"},
        {"synthetic | resize 5 | center_crop 4,3",
         SYNTHETIC " | resize size=5 filter=bilinear "
                   "antialias=true max_size=0 | center_crop size=4,3"},
        {"synthetic | random_resized_crop 5 antialias=false filter=bicubic",
         SYNTHETIC " | random_resized_crop size=5 scale=0.08,1 ratio=0.75,1.3333333333333333 "
                   "filter=bicubic antialias=false"},
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
                      "image_folder dir='/data sets/a|b#c=d'\"'\"'/x' extensions=" EXTENSIONS
                      " cache=keep recursive=false");
    check_description("image_folder \"${SLUICE_TEST_DIR} y\"",
                      "image_folder dir='/data sets/a|b#c=d'\"'\"' y' extensions=" EXTENSIONS
                      " cache=keep recursive=false");
    check_description("image_folder '${SLUICE_TEST_DIR}'",
                      "image_folder dir='${SLUICE_TEST_DIR}' extensions=" EXTENSIONS
                      " cache=keep recursive=false");
    check_description("image_folder a${SLUICE_TEST_EMPTY}b",
                      "image_folder dir=ab extensions=" EXTENSIONS " cache=keep recursive=false");
    check_description("image_folder ${SLUICE_TEST_EMPTY}",
                      "image_folder dir='' extensions=" EXTENSIONS " cache=keep recursive=false");
    unsetenv("SLUICE_TEST_DIR");
    unsetenv("SLUICE_TEST_EMPTY");
    check_refused("image_folder ${SLUICE_TEST_DIR}", "${SLUICE_TEST_DIR} has no value");
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
        "synthetic | shard 0 1 | shard 4294967292 4294967293 | shard none",
        "synthetic | split train 1e-9 seed=18446744073709551615 | split test 0.3333333333333333",
        "synthetic | split val 0.1 7 0.9 | split val 1",
        "synthetic | take 0 | skip 18446744073709551615 | repeat 1000000000",
        "image_folder x | decode gray 1 | resize 65535,1",
        "image_folder x | decode max_pixels=4294836225",
        "synthetic | random_crop 1,65535 padding=65535",
        "synthetic | random_resized_crop 7 1e-300,1 0.00010000000000000002,10000",
        "synthetic | random_resized_crop 7,9 scale=0.3,0.3 ratio=1,1",
        "synthetic | random_resized_crop 7 filter=nearest antialias=false | resize 3 area",
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

        T_OK(sluice_dataset_parsef(&dataset, "image_folder %s", odd[i]));
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
        T_OK(sluice_dataset_parsef(&dataset, "image_folder %s", path));
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
    T_OK(sluice_dataset_parsef(&dataset, "cifar10 %s test", folder));
    again = parsed(described(dataset));
    T_OK(sluice_dataset_add(again, "batch 2"));
    T_OK(sluice_dataset_inspect(again, &info));
    T_EQ(info.samples, 5);
    sluice_dataset_destroy(again);
    sluice_dataset_destroy(dataset);
}

/* ---- surroundings ---------------------------------------------------------------------------- */

static void another_locale_changes_nothing(void)
{
    static const char text[] = "synthetic | random_resized_crop 10 scale=0.1,0.5 | "
                               "random_horizontal_flip 0.25 | normalize 0.5,0.25,0.125 "
                               "0.30000000000000004,1e-3,1.5 dtype=f16";
    char before[1000];
    sluice_dataset *dataset = parsed(text);

    snprintf(before, sizeof(before), "%s", described(dataset));
    sluice_dataset_destroy(dataset);
    T_NEEDS(kit_comma_begin(), "this C library has locales of another form");
    dataset = parsed(text);
    T_STR(described(dataset), before);
    sluice_dataset_destroy(dataset);
    check_refused("synthetic | random_horizontal_flip 0,25", "p=0,25 must be a number");
    check_refused("synthetic | random_horizontal_flip 2.5", "p=2.5 must be from 0 to 1");
    kit_comma_end();
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

/* ---- help ------------------------------------------------------------------------------------ */

/* Undoes the breaks of a text's lines. */
static const char *joined(const char *text)
{
    static char line[4000];
    size_t length = 0;

    for (; *text != '\0' && length + 1 < sizeof(line); text++) {
        if (!isspace((unsigned char)*text)) {
            line[length++] = *text;
        } else if (length > 0 && line[length - 1] != ' ') {
            line[length++] = ' ';
        }
    }
    line[length] = '\0';
    return line;
}

static void check_columns(const char *text)
{
    for (; *text != '\0'; text += strcspn(text, "\n") + 1) {
        if (strcspn(text, "\n") > SLI_COLUMNS) {
            T_FAIL_("%zu columns: %.*s", strcspn(text, "\n"), (int)strcspn(text, "\n"), text);
        }
    }
}

/* The part of the text from `title` to the next heading or the end has the stage. */
static void check_heading(const char *text, const char *title, const char *usage)
{
    const char *begin = strstr(text, title);
    const char *end;
    const char *found;

    if (begin == NULL) {
        T_FAIL_("no heading '%s'", title);
        return;
    }
    end = strstr(begin + strlen(title), "\n== ");
    found = strstr(begin, usage);
    T_TRUE(found != NULL && (end == NULL || found < end));
}

static void help_is_grouped(void)
{
    char *all = NULL;

    T_OK(sluice_stage_help(NULL, &all));
    check_heading(all, "== Sources ==", "\nimage_folder dir");
    check_heading(all, "== Order and choice of samples ==", "\nshuffle seed");
    check_heading(all, "== Columns ==", "\nrename column");
    check_heading(all, "== Arrays ==", "\none_hot column");
    check_heading(all, "== Decoding and geometry of images ==", "\ndecode mode");
    check_heading(all, "== Decoding and geometry of images ==", "\nresize size");
    check_heading(all, "== Colours and warps of images ==", "\nrandom_invert p");
    check_heading(all, "== Conversion of images ==", "\nnormalize mean");
    check_heading(all, "== Batches ==", "\npack column");
    check_heading(all, "== Batches ==", "\nbatch n");
    CU_ASSERT_PTR_NULL(strstr(strstr(all, "== Batches ==") + 1, "== Batches =="));
    sluice_string_free(all);
}

static void help_has_the_bounds_of_numbers(void)
{
    char *text = NULL;

    T_OK(sluice_stage_help("random_solarize", &text));
    T_CONTAINS(text, "[0..256]");
    sluice_string_free(text);
    T_OK(sluice_stage_help("repeat", &text));
    T_CONTAINS(text, "[1..]");
    sluice_string_free(text);
    T_OK(sluice_stage_help("take", &text));
    CU_ASSERT_PTR_NULL(strstr(text, "["));
    sluice_string_free(text);
}

/* The list of all stages has the help of each up to its details, which an empty line begins. */
static void end_before_details(char *help)
{
    char *details = strstr(help, "\n\n");

    if (details != NULL) {
        details[1] = '\0';
    }
}

static void help_has_details_of_one_stage(void)
{
    char *all = NULL;
    char *one = NULL;

    T_OK(sluice_stage_help(NULL, &all));
    T_OK(sluice_stage_help("random_crop", &one));
    check_columns(one);
    T_CONTAINS(one, "runs on workers\n\n    Reference: torchvision.transforms.v2.RandomCrop");
    T_TRUE(strstr(all, "The position is uniform") == NULL);
    sluice_string_free(all);
    sluice_string_free(one);
}

static void help_lists_every_stage_with_its_arguments(void)
{
    char *all = NULL;

    T_OK(sluice_stage_help(NULL, &all));
    check_columns(all);
    for (size_t i = 0; stage_table[i] != NULL; i++) {
        const stage_def *def = stage_table[i];
        char *one = NULL;

        T_OK(sluice_stage_help(def->name, &one));
        T_EQ(strncmp(one, def->name, strlen(def->name)), 0);
        end_before_details(one);
        T_CONTAINS(all, one);
        for (uint32_t k = 0; k < def->param_count; k++) {
            T_CONTAINS(one, def->params[k].name);
            T_CONTAINS(joined(one), def->params[k].help);
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
    T_TEST(help_is_grouped),
    T_TEST(help_has_the_bounds_of_numbers),
    T_TEST(every_element_of_the_grammar_is_read),
    T_TEST(variables_come_from_the_environment),
    T_TEST(descriptions_read_back_to_themselves),
    T_TEST(paths_of_any_bytes_read_back),
    T_TEST(a_path_reaches_the_source_as_it_was_written),
    T_TEST(another_locale_changes_nothing),
    T_TEST(parsing_and_describing_survive_running_out_of_memory),
    T_TEST(parsing_opens_nothing),
    T_TEST(help_lists_every_stage_with_its_arguments),
    T_TEST(help_has_details_of_one_stage),
    T_END,
};
