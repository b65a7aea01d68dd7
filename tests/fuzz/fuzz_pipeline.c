/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzing of pipeline texts: no text may crash the parser, and what it accepts must describe itself
 * by a text that it reads back to the same. Parsing opens at most regular files, to read them, so
 * texts may name any. An input is a text and, behind zero bytes, the names and values of its
 * arguments: text, name, value, name, value, ...
 *
 * With preset fuzz this is a libFuzzer target. Otherwise it is a program that runs the files it is
 * given or, without any, the texts below, the examples of stages and random changes of them.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>
#include <sluice/log.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds, const char *what, const char *text)
{
    if (!holds) {
        fprintf(stderr, "%s: \"%s\"\n", what, text);
        abort();
    }
}

/* The description of what was parsed, to be freed; the dataset is gone. */
static char *description_of(sluice_dataset *dataset)
{
    char *text = NULL;
    sluice_status st = sluice_dataset_describe(dataset, &text);

    must(st == SLUICE_OK, "cannot be described", sluice_last_error());
    sluice_dataset_destroy(dataset);
    return text;
}

/* Errors of the text show where; those of arguments begin with that word. */
static void check_error(const char *text)
{
    const char *error = sluice_last_error();
    size_t length = strlen(error);

    must(length > 0 && (error[length - 1] == '^' || strncmp(error, "argument ", 9) == 0),
         "an error without a caret", text);
}

/* The same text as stages behind a source. */
static void run_addition(const char *text)
{
    sluice_dataset *dataset = NULL;

    must(sluice_dataset_parse("synthetic 5 4,3,3 2", &dataset) == SLUICE_OK, "no source", text);
    if (sluice_dataset_add(dataset, text) != SLUICE_OK) {
        check_error(text);
    } else {
        sluice_string_free(description_of(dataset));
        return;
    }
    must(sluice_dataset_add(dataset, "batch 1") != SLUICE_OK, "the error is not kept", text);
    sluice_dataset_destroy(dataset);
}

/* A status of a text that is no pipeline. Sources whose columns only their files know open these
 * when they are added, so it may be an error of files, too. */
static bool is_refusal(sluice_status status)
{
    return status == SLUICE_E_INVALID || status == SLUICE_E_IO || status == SLUICE_E_CORRUPT ||
           status == SLUICE_E_UNSUPPORTED;
}

enum { MOST_ARGS = 8 };

/* What stands behind the text: names and values in turn. */
typedef struct arguments {
    const char *names[MOST_ARGS];
    const char *values[MOST_ARGS];
    size_t count;
} arguments;

static void run_text(const char *text, const arguments *args)
{
    sluice_dataset *dataset = NULL;
    sluice_status st =
        sluice_dataset_parse_args(text, args->names, args->values, args->count, &dataset);
    char *first;
    char *second;

    run_addition(text);
    if (st != SLUICE_OK) {
        must(is_refusal(st) && dataset == NULL, "refused in a wrong way", text);
        must(sluice_dataset_parse_args(text, args->names, args->values, args->count, &dataset) ==
                 st,
             "refused once", text);
        check_error(text);
        return;
    }
    first = description_of(dataset);
    dataset = NULL;
    must(sluice_dataset_parse(first, &dataset) == SLUICE_OK, "cannot be read back", first);
    second = description_of(dataset);
    must(strcmp(first, second) == 0, "reads back to something else", first);
    sluice_string_free(first);
    sluice_string_free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    arguments args = {.count = 0};

    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = strlen(text) + 1; at < size && args.count < MOST_ARGS; args.count++) {
        const size_t value = at + strlen(text + at) + 1;

        if (value > size) {
            break; /* a name without a value */
        }
        args.names[args.count] = text + at;
        args.values[args.count] = text + value;
        at = value + strlen(text + value) + 1;
    }
    run_text(text, &args);
    free(text);
    return 0;
}

#ifndef SLUICE_LIBFUZZER

#include "stage_examples.h"

enum { ROUNDS = 20000, LONGEST = 400 };

static const char *const written[] = {
    "image_folder 'a b' \"png,jpg\" | shuffle 3 | shard none | split val 0.25 test=0.5 | decode",
    "synthetic 5 4,3,1 classes=2 # words\n| take 3|skip n=1 | repeat 2 | shuffle seed=run",
    "image_folder ${HOME}/x | decode gray | random_resized_crop 8,9 scale=0.1,1 ratio=.5,2 | batch "
    "4",
    "cifar10 d test | random_crop 3 padding=4 | random_horizontal_flip 1e-3 | normalize cifar10",
    "webdataset x.tar fields=image:jpg,seg:png@mask,y:cls,v:npy,t:txt[512] | batch 2",
    "cifar100 d train label=both | random_horizontal_flip",
    "synthetic | color_jitter 0.4 0.1,2 hue=.1 | random_posterize 3 | random_solarize 9 p=1",
    "synthetic | random_apply .5 (rotate 3 | random_choice 2:(random_invert) 1:(gaussian_blur 3))",
    "synthetic | random_order (random_invert) (rotate 9) columns=image | batch 2 | random_choice "
    "(mixup 3) (cutmix 3)",
    "coco a.json max_boxes=9 | decode | mosaic 4,4 .25,1 scale=1,2 translate=0 p=0.5 | batch 2",
    "synthetic | batch 4 | mixup 10 0.2 | cutmix alpha=.5 label=label",
    "synthetic | device | random_affine 9 .1,.1 fill=1,2,3 | color_jitter .1 0 .1 | to_chw | batch "
    "2",
    "synthetic | aug_mix 3 2 -1 .5 false nearest 9 | random_apply (aug_mix)",
    "synthetic | random_zoom_out 1,2,3 1,2 .5 mask_fill=9 | center_crop 9 | resize 7,7 | batch 2",
    "synthetic | color_twist .5,2 1.5 hue=-9,9 | warp_affine 1,.2,3,0,1,2 inverse_map=false "
    "fill=9",
    "synthetic | random_hsv .1 1/1.5..2 value=1/2..2 | letterbox 9 1,2,3 aspect=.7,1.3 "
    "position=random | rotate 9 bilinear border=constant",
    "synthetic | elastic 3,4 2 nearest 9 | random_apply (elastic)",
    "coco a.json b | decode | random_iou_crop .1 .9 1 1 0,.5,1,1,1,1,1,1 3 | resize 3,3 | batch 2",
    "coco a.json b | decode | random_bbox_crop .1,.9 .5,2 0,.5,1 3 0 overlap 0 9 | resize 3,3 | "
    "box_encoder ssd300 .3 true 2 1,2,3,4 1,2,3,4 0 boxes classes | batch 2",
    "synthetic | rotate 9 expand=true | random_rotation 9 center=image expand=true | resize 3,3",
    "synthetic | resize 9 | views 2 | random_crop 3 | random_horizontal_flip | to_chw | batch 2",
    "synthetic | five_crop 3 | ten_crop 2,3 true | batch 2",
    "synthetic | pad_image 1,2,3 | pad_image 1,2,3,4 9 reflect 8 | pad_image 2 mode=edge | batch 2",
    "synthetic | rand_augment 3 5 11 | gaussian_blur 5 .1,2 | random_erasing 1 0,1",
    "synthetic | random_affine 10 .1,.2 .8,1.2 5 bilinear 1,2,3 9 | perspective 1,2 | rotate 9",
    "synthetic | resize 7 | center_crop 3,4 | normalize 1,2,3 4,5,6 255 f16 offload=device | "
    "to_chw",
    "synthetic | to_dtype bf16 scale=true | to_chw host | batch 3 drop_remainder=true",
    "image_folder ${A:-x y}/${B} | take ${N:-3} # ${C}\n| skip \"${B:-}\"${N:-1}",
    "concat (synthetic 3 4,4,3 | shuffle) (synthetic | take 9) | shuffle | batch 2",
    "mix 0.7:(synthetic 3|shuffle 5) 0.3:end:(concat (synthetic)(synthetic 2 | repeat 3)) | batch "
    "4",
    "zip (synthetic ${N}) (synthetic 9 | skip 6 | rename label y | drop image) | balance y",
    "webdataset ${A} label=${B:-cls} | ${N:-shuffle} | batch ${B}",
};
enum { WRITTEN = sizeof(written) / sizeof(written[0]) };

/* The texts above, and one with the example of each stage. */
static char texts[WRITTEN + EXAMPLES_MOST][LONGEST];
static uint32_t text_count;

static void add_example(const char *name, const char *text, void *user)
{
    (void)name;
    (void)user;
    snprintf(texts[text_count++], LONGEST, "%s", text);
}

static void make_texts(void)
{
    for (; text_count < WRITTEN; text_count++) {
        snprintf(texts[text_count], LONGEST, "%s", written[text_count]);
    }
    must(for_each_example(add_example, NULL) > 80, "too few stages", "help");
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* One change: a byte replaced, taken out or put in, or the end of another text. */
static void change(char *text, uint32_t *state)
{
    static const char special[] = "|='\"#${}:-ABN()()), \n\t09.eazZ\xC3\xBC\x01";
    const size_t length = strlen(text);
    const size_t at = next_random(state) % (length + 1);
    const char byte = special[next_random(state) % (sizeof(special) - 1)];
    const char *other = texts[next_random(state) % text_count];

    switch (next_random(state) % 4) {
    case 0:
        text[at] = at < length ? byte : '\0';
        break;
    case 1:
        memmove(text + at, text + at + (at < length), length - at + (at == length));
        break;
    case 2:
        if (length + 1 < LONGEST) {
            memmove(text + at + 1, text + at, length - at + 1);
            text[at] = byte;
        }
        break;
    default:
        snprintf(text + at, LONGEST - at, "%s", other + next_random(state) % strlen(other));
        break;
    }
}

static void run_changes(void)
{
    uint32_t state = 1;

    make_texts();
    for (int i = 0; i < ROUNDS; i++) {
        const arguments args = {{"A", "B", "N"}, {"a | b # '", "", "2"}, next_random(&state) % 4};
        char text[LONGEST];

        snprintf(text, sizeof(text), "%s", texts[(uint32_t)i % text_count]);
        for (uint32_t changes = next_random(&state) % 6; changes > 0; changes--) {
            change(text, &state);
        }
        run_text(text, &args);
    }
}

static int run_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    return LLVMFuzzerTestOneInput(bytes, size);
}

int main(int argc, char **argv)
{
    int failed = 0;

    sluice_log_set_level(SLUICE_LOG_OFF);
    for (int i = 1; i < argc; i++) {
        failed |= run_file(argv[i]);
    }
    if (argc == 1) {
        run_changes();
    }
    return failed;
}

#endif
