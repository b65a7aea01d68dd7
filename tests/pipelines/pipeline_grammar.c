/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_grammar.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_kit.h"

/*
 * A rule is alternatives, one on each line; <NAME> is replaced by an alternative of that rule, and
 * {A;B;C} by one of these texts. All alternatives are equally likely.
 */
typedef struct rule {
    const char *name;
    const char *lines;
} rule;

static const rule rules[] = {
    {"pipeline",
     "<files><order> | decode<mode><cache><open> | <sized><fixed><convert><batch><mix>\n"
     "<files><order> | decode<mode><cache><open> | <sized><fixed><convert><batch><mix>\n"
     "<listed><order> | decode<cache><open> | <sized><fixed><convert><batch>\n"
     "<listed><order> | decode<cache><open> | <sized><fixed><convert><batch>\n"
     "<boxes><order> | decode<cache> | <boxed> | <sized><fixed><convert><batch>\n"
     "<boxes><order> | decode<cache> | mosaic {8,8;12,9}<mosaic><fixed><convert><batch>\n"
     "<raw><order><cache><fixed><convert><batch><mix>\n"
     "<raw><order><fixed><convert><batch><mix>\n"
     "<raw><order><views><fixed><convert><batch>\n"
     "<numbers>"},
    {"jpeg",
     "<jpegs><order> | decode<mode><fast><cache><open> | <sized><fixed><convert><batch><mix>"},
    {"free", "<files><order> | decode<mode><before> | <sized><fixed><convert><batch><mix>\n"
             "<listed><order> | decode<before> | <sized><fixed><convert><batch>\n"
             "<boxes><order> | decode<color> | <boxed><color> | <sized><fixed><convert><batch>\n"
             "<raw><order><before> | <sized><fixed><convert><batch><mix>\n"
             "<raw><order><before><views><fixed><convert><batch>"},
    {"before", "<color>\n<warp>\n<nested>\n<color> | <anysize>\n | <anysize><color>\n"
               " | <anysize><nested> | <anysize>\n | resize 14,15<warp> | <anysize><color>"},
    {"drawn",
     "<files><order> | decode<mode><draws> | <sized><fixed><convert><batch><mix>\n"
     "<listed><order> | decode<draws> | <sized><fixed><convert><batch>\n"
     "<boxes><order> | decode<draws> | <boxed><draws> | <sized><fixed><convert><batch>\n"
     "<boxes><order> | decode<cache><moves> | mosaic 8,8<draws> | <sized><convert><batch>\n"
     "<raw><order><cache><draws> | <sized><fixed><convert><batch><mix>\n"
     "<raw><order><draws><views><draws> | resize 7,8<convert><batch>"},
    {"draws", "<flip>\n<flip><color>\n<branches>\n<branches>\n<flip><branches>\n"
              "<branches><color>\n<branches><flip>\n<color><branches>"},
    {"moves", "<flip>\n | random_apply 0.6 (<window>)\n"
              " | random_choice (<window>) (random_horizontal_flip)<flip>"},
    {"branches", " | random_apply 0.6 (<drawnlist>)\n | random_choice (<drawnlist>) (<drawnlist>)\n"
                 " | random_choice 0.7:(<drawnlist>) 0.3:(<inner>)\n"
                 " | random_order (<drawnlist>) (<drawnlist>)\n"
                 " | random_apply 0.8 (<drawnlist>) (random_choice (<drawnlist>) (<inner>))"},
    {"drawnlist", "<window>\n<window> | <colorstage>\n<colorstage> | <window>\n"
                  "random_horizontal_flip\nrandom_vertical_flip 0.4 | <window>\n"
                  "<window> | <warpstage>\n<window> | random_horizontal_flip | <window>"},
    {"window", "<anysize>\nrandom_crop 9 padding=5\ncenter_crop {8;9,10}\nresize 9,9<filter>\n"
               "random_resized_crop 8"},

    /* sources */
    {"jpegs", "image_folder ${D}/jpeg\nimage_folder ${D}/jpeg index=${D}/index\n"
              "webdataset ${D}/pack\nwebdataset ${D}/pack access=stream\nwebdataset ${D}/rawpack"},
    {"files", "image_folder ${D}/folder\nwebdataset ${D}/shard.tar\nwebdataset ${D}/shard.tar "
              "access=stream\n"
              "image_list ${D}/plain.csv\n"
              "concat (image_folder ${D}/folder) (webdataset ${D}/shard.tar | take 3)\n"
              "mix 0.6:(image_folder ${D}/folder) 0.4:(image_list ${D}/plain.csv | shuffle)"},
    {"listed", "image_list ${D}/list.tsv\n<boxes>\nimage_list ${D}/pairs.tsv"},
    {"boxes", "image_list ${D}/boxes.tsv\ncoco ${D}/coco.json ${D}/folder iscrowd={keep;drop}"},
    {"raw", "synthetic 13 9,11,3\nsynthetic 7 16,16,3\nsynthetic 11 8,8,1\ncifar10 ${D}\n"
            "cifar10 ${D} test"},
    {"numbers",
     "zip (synthetic 12 4,4,3) (<list> | drop image,doc,doc_length | rename label value)<batch>\n"
     "<list><order> | one_hot label 4 {0;0.1} | cast weight f32 | drop image<batch>\n"
     "<list><order> | truncate doc 5 | pad doc 7 {0;9} | drop image<batch>\n"
     "<list><order> | drop image,doc,doc_length | cast label {u8;f32;i64}<batch>\n"
     "<list><order> | project doc,doc_length | pack doc {8;13} split={true;false} | batch {1;2}\n"
     "<list><order> | drop image | bucket doc_length {3,6,9;4,9} | batch 2 "
     "drop_remainder={true;false}"},
    {"list", "image_list ${D}/numbers.csv"},

    /* order */
    {"order",
     "\n\n | shuffle\n | shuffle seed=7\n | shuffle buffer=4\n | take 8\n | skip 3\n"
     " | shuffle\n | split val 0.5\n | shuffle | take 9\n | take 9 | shuffle | skip 1\n<rare>"},
    {"rare", " | repeat 2\n | shuffle | repeat 3\n | shuffle | shard 0 2\n | balance"},
    {"cache", "\n\n\n\n | cache 1M\n | cache 5000"},

    /* images */
    {"mode", "\n\n\n mode=gray"},
    {"fast", "\n fast_scale=true"},
    {"filter", "\n filter={bicubic;nearest;bilinear;area}\n antialias=false"},
    {"open", "\n\n\n | <anysize>\n | <anysize> | <anysize>"},
    {"anysize", "resize {9;14}<filter>\npad_image {2;1,3;0,1,2,3} mode={constant;edge;reflect}\n"
                "random_zoom_out 9 1,{2;3} p={1;0.5}\nrotate {30;-75} expand=true fill=7\n"
                "random_rotation 40 expand=true filter=bilinear"},
    {"boxed",
     "random_iou_crop\nrandom_zoom_out 9 1,2 | random_iou_crop 0.2 0.9\nletterbox {10,12;9}"},
    {"sized",
     "resize {7,9;12,12}<filter>\nrandom_resized_crop {8;9,7}<filter>\n"
     "random_resized_crop 8 scale=0.3,1 ratio=1,1\nresize 12 | center_crop {8;7,9}\n"
     "resize 11 | random_crop {9;8,7}\nrandom_crop 9 padding={5;9}\ncenter_crop 10\n"
     "letterbox {9;12,8} {0;114}<filter>\nresize 16,16 | random_crop 12 | resize 9,9\n"
     "pad_image 3 | center_crop 9 | resize 6,6\nresize 14 | five_crop 6\nresize 12,12<views>"},
    {"views", " | views {2;3} | random_crop {6;7,8}\n | five_crop 6\n | ten_crop 6 {true;false}"},
    {"mosaic", "\n p=0.5\n center=1,1 scale=0.3,0.9\n | random_resized_crop 7"},
    {"fixed", "\n\n<flip>\n<color>\n<color><flip>\n<warp>\n<warp><color>\n<color><warp><flip>\n"
              "<color><warp><warp>\n<warp><warp>\n<nested>\n<nested><flip>\n | random_crop 6 "
              "padding=2<flip>\n"
              " | random_crop 6<color><flip>\n | device<warp><pointwise>\n | device<pointwise>\n"
              "<color> | device<pointwise><flip>\n | random_erasing 0.7\n<color> | random_erasing "
              "1 value=5<flip>"},
    {"flip", " | random_horizontal_flip\n | random_horizontal_flip 1\n"
             " | random_vertical_flip 0.4 | random_horizontal_flip"},
    {"color", "<onecolor>\n<onecolor><onecolor>\n<onecolor><onecolor><onecolor>"},
    {"onecolor", " | <colorstage>"},
    {"pointwise", " | color_jitter 0.4 0 0.4 0.1\n | random_invert | random_solarize 90\n"
                  " | random_grayscale 0.5 | color_jitter 0.3\n | random_posterize 3"},
    {"colorstage", "color_jitter 0.4 0.4 0.4 0.1\ncolor_jitter 0.3\ncolor_jitter hue=0.2\n"
                   "color_twist 1.2 0.8 1.1 15\nrandom_grayscale 0.5\nrandom_invert\n"
                   "random_posterize 3\nrandom_solarize 90\nrandom_autocontrast 0.7\n"
                   "random_equalize 0.6\nrandom_adjust_sharpness {0;2} 0.8\ngaussian_blur {3;5}\n"
                   "gaussian_blur 3 0.3,1.5"},
    {"warp", " | <warpstage>"},
    {"warpstage", "rotate {20;180} filter={nearest;bilinear} fill={0;1,2,3}\nrandom_rotation 30\n"
                  "random_affine 15 0.1,0.1 0.8,1.2 8\naffine 10 2,1 1.1 3,4\n"
                  "warp_affine 1,0.2,1,0,1,-1\nwarp_affine 0.9,0,1,0.1,1,0 inverse_map=false\n"
                  "perspective 1,1\nrandom_perspective 0.4 0.7\nelastic {20;8} 3"},
    {"nested", " | random_apply 0.6 (<inner>)\n | random_choice (<inner>) (<inner>)\n"
               " | random_choice 0.7:(<inner>) 0.2:(<inner>) 0.1:(<inner>)\n"
               " | random_order (<inner>) (<inner>)\n"
               " | random_apply 0.8 (random_choice (<inner>) (<inner>) | <colorstage>)\n"
               " | trivial_augment\n | rand_augment {2;3} {5;9}\n | aug_mix severity={1;3}\n"
               " | rand_augment filter=bilinear fill=3"},
    {"inner", "<colorstage>\n<colorstage> | <colorstage>\n<warpstage>"},

    /* conversions and batches */
    {"convert",
     "\n\n | normalize 120 60 range=255\n | normalize {120;50} {60;70} range=255 "
     "dtype={f16;bf16;f32} "
     "| to_chw\n | to_chw\n | to_dtype f32 scale=true\n | normalize 0.5 0.25 offload=host | "
     "to_chw offload=host\n | to_dtype {f16;bf16}\n | to_chw | random_erasing 0.5 value=3"},
    {"batch", " | batch 3\n | batch 2 drop_remainder=true\n | batch 4"},
    {"mix", "\n\n\n\n | mixup 10\n | cutmix 10 alpha=0.7"},
};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };

typedef struct writer {
    char *text;
    size_t length;
    uint32_t random;
} writer;

static const rule *rule_of(const char *name, size_t length)
{
    for (size_t i = 0; i < RULES; i++) {
        if (strlen(rules[i].name) == length && memcmp(rules[i].name, name, length) == 0) {
            return &rules[i];
        }
    }
    fprintf(stderr, "no rule %.*s\n", (int)length, name);
    abort();
}

static void put(writer *w, char byte)
{
    if (w->length + 1 >= PIPELINE_TEXT) {
        fprintf(stderr, "a pipeline is longer than %d bytes: %s\n", PIPELINE_TEXT, w->text);
        abort();
    }
    w->text[w->length++] = byte;
    w->text[w->length] = '\0';
}

/* One of the texts that `separator` separates in [text, end), drawn; *length_out is its length. */
static const char *choose(writer *w, const char *text, const char *end, char separator,
                          size_t *length_out)
{
    uint32_t count = 1;
    const char *stop;

    for (const char *c = text; c < end; c++) {
        count += *c == separator;
    }
    for (uint32_t skip = test_below(&w->random, count); skip > 0; text++) {
        skip -= *text == separator;
    }
    stop = memchr(text, separator, (size_t)(end - text));
    *length_out = (size_t)((stop != NULL ? stop : end) - text);
    return text;
}

/* NOLINTNEXTLINE(misc-no-recursion): rules do not contain themselves */
static void expand(writer *w, const rule *of)
{
    size_t length;
    const char *text = choose(w, of->lines, of->lines + strlen(of->lines), '\n', &length);

    for (const char *c = text; c < text + length; c++) {
        if (*c == '<') {
            const char *end = strchr(c, '>');

            expand(w, rule_of(c + 1, (size_t)(end - c - 1)));
            c = end;
        } else if (*c == '{' && (c == text || c[-1] != '$')) {
            const char *end = strchr(c, '}');
            size_t count;
            const char *part = choose(w, c + 1, end, ';', &count);

            for (size_t i = 0; i < count; i++) {
                put(w, part[i]);
            }
            c = end;
        } else {
            put(w, *c);
        }
    }
}

void make_pipeline(const char *start, uint32_t number, char text[PIPELINE_TEXT])
{
    writer w = {.text = text, .random = number ^ 0x9E3779B9U};

    text[0] = '\0';
    w.random = w.random != 0 ? w.random : 1;
    for (int i = 0; i < 8; i++) { /* neighbouring numbers begin alike */
        (void)test_random(&w.random);
    }
    expand(&w, rule_of(start, strlen(start)));
}
