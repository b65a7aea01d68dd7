/* SPDX-License-Identifier: Apache-2.0 */
#include "train_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(void)
{
    fprintf(stderr,
            "usage: train_image_folder TRAIN_DIR [TEST_DIR] [OPTIONS]\n\n"
            "Both hold a folder of pictures for each class. Without TEST_DIR a fifth of the\n"
            "pictures in TRAIN_DIR is held out for the test.\n\n"
            "  --epochs N         epochs, each of sink-size steps (40)\n"
            "  --sink-size N      steps for one launch; -1: once over all pictures (25)\n"
            "  --batch N          pictures in a step (32)\n"
            "  --size N           pixels of a side, a multiple of 8 (64)\n"
            "  --min-crop SHARE   smallest part of a picture to train on; 1: all of it (0.8)\n"
            "  --lr RATE          learning rate, a tenth of it in the last quarter (0.02)\n"
            "  --device NAME      host:0, or cuda:N (host:0)\n"
            "  --mode MODE        auto, direct, data, graph or loop (auto)\n"
            "  --workers N        threads that read and decode; 0: as many as fit (0)\n"
            "  --seed N           of everything random (1)\n"
            "  --checkpoints DIR  save there, every 10 epochs and at the end, and go on from\n"
            "                     what is there (no)\n");
}

static bool read_mode(const char *text, sluice_mode *mode)
{
    for (int i = SLUICE_MODE_AUTO; i <= SLUICE_MODE_LOOP; i++) {
        if (strcmp(text, sluice_mode_name((sluice_mode)i)) == 0) {
            *mode = (sluice_mode)i;
            return true;
        }
    }
    return false;
}

/* Reads an option and its value; false when they make no sense. */
static bool read_option(train_options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        double low, high;
        double step; /* the value is a multiple of it, unless 0 */
        double *to;
    } options[] = {
        {"--epochs", 1, 1e6, 1, &o->epochs},    {"--batch", 1, 65536, 1, &o->batch},
        {"--size", 8, 1024, 8, &o->size},       {"--min-crop", 0.01, 1, 0, &o->min_crop},
        {"--lr", 0, 100, 0, &o->learning_rate}, {"--sink-size", -1, 1e9, 1, &o->sink_size},
        {"--workers", 0, 1024, 1, &o->workers}, {"--seed", 0, 1e15, 1, &o->seed},
    };

    if (strcmp(name, "--mode") == 0) {
        return read_mode(value, &o->mode);
    }
    if (strcmp(name, "--device") == 0) {
        o->device_name = value;
        return value[0] != '\0';
    }
    if (strcmp(name, "--checkpoints") == 0) {
        o->checkpoints = value;
        return value[0] != '\0';
    }
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(name, options[i].name) == 0) {
            char *end;
            const double number = strtod(value, &end);

            *options[i].to = number;
            return end != value && *end == '\0' && number >= options[i].low &&
                   number <= options[i].high &&
                   (options[i].step == 0 || fmod(number, options[i].step) == 0);
        }
    }
    return false;
}

static bool read_words(train_options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            const char *value = i + 1 < argc ? argv[i + 1] : "";

            if (!read_option(o, argv[i], value)) {
                fprintf(stderr, "what does %s %s mean?\n", argv[i], value);
                return false;
            }
            i++;
        } else if (o->train_dir == NULL) {
            o->train_dir = argv[i];
        } else if (o->test_dir == NULL) {
            o->test_dir = argv[i];
        } else {
            fprintf(stderr, "one word too many: %s\n", argv[i]);
            return false;
        }
    }
    return o->train_dir != NULL;
}

bool train_options_read(train_options *o, int argc, char **argv)
{
    const train_options defaults = {.device_name = "host:0",
                                    .size = 64,
                                    .min_crop = 0.8,
                                    .batch = 32,
                                    .epochs = 40,
                                    .sink_size = 25,
                                    .learning_rate = 0.02,
                                    .seed = 1};

    *o = defaults;
    if (!read_words(o, argc, argv)) {
        usage();
        return false;
    }
    return true;
}
