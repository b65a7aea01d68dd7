/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of train_image_folder. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <stdbool.h>

#include <sluice/train.h>

typedef struct train_options {
    const char *train_dir;
    const char *test_dir;    /* NULL: hold out a part of train_dir */
    const char *checkpoints; /* NULL: none */
    const char *device_name;
    sluice_mode mode;
    double size;
    double min_crop;
    double batch;
    double epochs;
    double sink_size;
    double learning_rate;
    double workers;
    double seed;
} train_options;

/* Sets all options, to their defaults or as they were given; false after saying what is wrong. */
bool train_options_read(train_options *o, int argc, char **argv);

#endif
