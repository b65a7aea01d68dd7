/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of train_image_folder. */
#ifndef TRAIN_OPTIONS_H
#define TRAIN_OPTIONS_H

#include <stdbool.h>

#include <sluice/train.h>

typedef struct train_options {
    bool classify;           /* true: the words are pictures to classify; false: they are folders */
    char *const *words;      /* (word_count) words of the command line that are not options */
    int word_count;          /* 1 or 2 folders, or at least 1 picture */
    const char *train_dir;   /* NULL with classify */
    const char *test_dir;    /* NULL: hold out a part of train_dir */
    const char *checkpoints; /* folder of checkpoints; NULL: no checkpoints */
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

typedef enum options_outcome {
    OPTIONS_VALID,
    OPTIONS_HELP,   /* the help was requested and printed */
    OPTIONS_INVALID /* an error was printed */
} options_outcome;

/*
 * Sets all options, from the command line or to their defaults. Moves the words of argv that are
 * not options to its front.
 */
options_outcome train_options_read(train_options *o, int argc, char **argv);

/*
 * Prints a command that resumes the training from the checkpoints, up to this number of epochs in
 * all.
 */
void train_options_print_resume(const train_options *o, const char *program, double epochs);

/* Prints a command that classifies a picture by the checkpoints. */
void train_options_print_classify(const train_options *o, const char *program);

/* Prints a command that trains on the same folder and tests on another one, to stderr. */
void train_options_print_test(const train_options *o, const char *program);

#endif
