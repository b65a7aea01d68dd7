/* SPDX-License-Identifier: Apache-2.0 */
#include "train_options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: train_image_folder TRAIN_DIR [TEST_DIR] [OPTIONS]\n"
    "       train_image_folder --classify PICTURE... --checkpoints DIR\n\n"
    "Trains a small convolutional network on pictures in one folder per class,\n"
    "TRAIN_DIR/CLASS/FILE, and tests it on TEST_DIR. Without TEST_DIR a fifth of the\n"
    "pictures in TRAIN_DIR is held out for the test.\n\n"
    "  --epochs N         epochs, each of sink-size steps (40)\n"
    "  --sink-size N      steps for one launch; -1: one pass over all pictures (25)\n"
    "  --batch N          pictures in a step (32)\n"
    "  --size N           pixels of a side, a multiple of 8 (64)\n"
    "  --min-crop SHARE   smallest part of a picture to train on; 1: all of it (0.8)\n"
    "  --lr RATE          learning rate, a tenth of it in the last quarter (0.02)\n"
    "  --device NAME      host:0, or cuda:N (host:0)\n"
    "  --mode MODE        auto, direct, data, graph or loop (auto)\n"
    "  --workers N        threads that read and decode; 0: as many as fit (0)\n"
    "  --seed N           of everything random (1)\n"
    "  --checkpoints DIR  save the network there, every 10 epochs and at the end, and\n"
    "                     resume from the newest checkpoint in DIR (none)\n"
    "  --classify         print the most likely classes of each PICTURE, by the network\n"
    "                     of the newest checkpoint in DIR\n"
    "  --help             this text\n";

/* A numeric option. */
typedef struct number_option {
    const char *name;
    double low, high;
    double step; /* the value must be a multiple of `step`; 0: any value */
    size_t offset;
} number_option;

#define NUMBER(name, low, high, step, field)                                                       \
    {                                                                                              \
        name, low, high, step, offsetof(train_options, field)                                      \
    }
static const number_option numbers[] = {
    NUMBER("--epochs", 1, 1e6, 1, epochs),      NUMBER("--sink-size", -1, 1e9, 1, sink_size),
    NUMBER("--batch", 1, 65536, 1, batch),      NUMBER("--size", 8, 1024, 8, size),
    NUMBER("--min-crop", 0.01, 1, 0, min_crop), NUMBER("--lr", 0, 100, 0, learning_rate),
    NUMBER("--workers", 0, 1024, 1, workers),   NUMBER("--seed", 0, 1e15, 1, seed),
};
enum { NUMBER_COUNT = sizeof(numbers) / sizeof(numbers[0]) };

static const train_options defaults = {.device_name = "host:0",
                                       .size = 64,
                                       .min_crop = 0.8,
                                       .batch = 32,
                                       .epochs = 40,
                                       .sink_size = 25,
                                       .learning_rate = 0.02,
                                       .seed = 1};

static double *number_of(train_options *o, const number_option *option)
{
    return (double *)(void *)((char *)o + option->offset);
}

/* ---- reading ------------------------------------------------------------------------------- */

static bool read_mode(const char *text, sluice_mode *mode)
{
    for (int i = SLUICE_MODE_AUTO; i <= SLUICE_MODE_LOOP; i++) {
        if (strcmp(text, sluice_mode_name((sluice_mode)i)) == 0) {
            *mode = (sluice_mode)i;
            return true;
        }
    }
    fprintf(stderr, "--mode %s must be auto, direct, data, graph or loop\n", text);
    return false;
}

static bool read_number(train_options *o, const number_option *option, const char *value)
{
    char *end;
    const double number = strtod(value, &end);

    if (end == value || *end != '\0' || !(number >= option->low && number <= option->high) ||
        (option->step > 0 && fmod(number, option->step) != 0)) {
        fprintf(stderr, "%s %s must be a number from %.10g to %.10g%s%s\n", option->name, value,
                option->low, option->high, option->step == 1 ? ", whole" : "",
                option->step > 1 ? ", a multiple of 8" : "");
        return false;
    }
    *number_of(o, option) = number;
    return true;
}

/* Reads an option and its value; false after printing an error. */
static bool read_option(train_options *o, const char *name, const char *value)
{
    if (strcmp(name, "--mode") == 0) {
        return read_mode(value, &o->mode);
    }
    if (strcmp(name, "--device") == 0) {
        o->device_name = value;
        return true;
    }
    if (strcmp(name, "--checkpoints") == 0) {
        o->checkpoints = value;
        return true;
    }
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            return read_number(o, &numbers[i], value);
        }
    }
    fprintf(stderr, "unknown option %s\n", name);
    return false;
}

/* Checks that the words that are not options fit the options, and assigns them. */
static bool assign_words(train_options *o)
{
    if (o->classify) {
        if (o->word_count == 0 || o->checkpoints == NULL) {
            fprintf(stderr, "--classify needs pictures, and --checkpoints DIR of a training\n");
        }
        return o->word_count > 0 && o->checkpoints != NULL;
    }
    if (o->word_count < 1 || o->word_count > 2) {
        fprintf(stderr,
                "there must be one folder to train on, and at most one for the test; got %d%s\n",
                o->word_count, o->word_count > 2 ? "; quote a path with spaces" : "");
        return false;
    }
    o->train_dir = o->words[0];
    o->test_dir = o->word_count > 1 ? o->words[1] : NULL;
    return true;
}

static options_outcome read_words(train_options *o, int argc, char **argv)
{
    int words = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return OPTIONS_HELP;
        }
        if (strcmp(argv[i], "--classify") == 0) {
            o->classify = true;
        } else if (strncmp(argv[i], "--", 2) != 0) {
            argv[1 + words++] = argv[i];
        } else if (i + 1 == argc || argv[i + 1][0] == '\0') {
            fprintf(stderr, "%s needs a value\n", argv[i]);
            return OPTIONS_INVALID;
        } else if (read_option(o, argv[i], argv[i + 1])) {
            i++;
        } else {
            return OPTIONS_INVALID;
        }
    }
    o->words = argv + 1;
    o->word_count = words;
    return assign_words(o) ? OPTIONS_VALID : OPTIONS_INVALID;
}

options_outcome train_options_read(train_options *o, int argc, char **argv)
{
    options_outcome outcome;

    *o = defaults;
    outcome = read_words(o, argc, argv);
    if (outcome == OPTIONS_INVALID) {
        fprintf(stderr, "train_image_folder --help lists the options\n");
    }
    return outcome;
}

/* ---- printing commands --------------------------------------------------------------------- */

/* Prints a word, quoted for a shell if necessary. */
static void print_quoted(FILE *file, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+";

    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        fputs(word, file);
        return;
    }
    fputc('\'', file);
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            fputs("'\\''", file);
        } else {
            fputc((unsigned char)*word < ' ' || *word == 0x7f ? '?' : *word, file);
        }
    }
    fputc('\'', file);
}

static void print_word(FILE *file, const char *word)
{
    fputc(' ', file);
    print_quoted(file, word);
}

void train_options_print_resume(const train_options *o, const char *program, double epochs)
{
    const char *policy = getenv("OMP_WAIT_POLICY"); /* libgomp reads it before main() */
    train_options now = *o;
    train_options before = defaults;

    if (policy != NULL) {
        fputs(" OMP_WAIT_POLICY=", stdout);
        print_quoted(stdout, policy);
    }
    print_word(stdout, program);
    print_word(stdout, o->train_dir);
    if (o->test_dir != NULL) {
        print_word(stdout, o->test_dir);
    }
    printf(" --epochs %.0f", epochs);
    for (size_t i = 1; i < NUMBER_COUNT; i++) { /* skips --epochs */
        const double number = *number_of(&now, &numbers[i]);

        if (number != *number_of(&before, &numbers[i])) {
            printf(" %s %.10g", numbers[i].name, number);
        }
    }
    if (strcmp(o->device_name, defaults.device_name) != 0) {
        printf(" --device %s", o->device_name);
    }
    if (o->mode != SLUICE_MODE_AUTO) {
        printf(" --mode %s", sluice_mode_name(o->mode));
    }
    fputs(" --checkpoints", stdout);
    print_word(stdout, o->checkpoints);
    putchar('\n');
}

void train_options_print_classify(const train_options *o, const char *program)
{
    print_word(stdout, program);
    fputs(" --classify PICTURE --checkpoints", stdout);
    print_word(stdout, o->checkpoints);
    putchar('\n');
}

void train_options_print_test(const train_options *o, const char *program)
{
    print_word(stderr, program);
    print_word(stderr, o->train_dir);
    fputs(" TEST_DIR\n", stderr);
}
