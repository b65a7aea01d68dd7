/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_stream FILE STEPS: a stream of your own. Its samples are the lines of a file, one after
 * another, until the steps are done. Prints the length of each line, and the line.
 *
 *     cc -o custom_stream custom_stream.c $(pkg-config --cflags --libs sluice)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/sluice.h>

/* Your code: begins a pass at its first sample. Each pass has the same lines. */
static sluice_status begin_again(uint64_t pass, void *user, void **pass_out)
{
    *pass_out = user;
    return fseek(user, 0, SEEK_SET) == 0 ? SLUICE_OK
                                         : sluice_fail(SLUICE_E_IO, "pass %d", (int)pass);
}

/* Your code: gives the next line. One thread at a time calls it; what takes long is for a map. */
static sluice_status next_line(sluice_sample *sample, void *pass, void *user)
{
    static char text[1000]; /* lent until the next call */
    sluice_status st = pass == user && fgets(text, 1000, pass) ? SLUICE_OK : SLUICE_END_OF_DATA;
    const uint64_t length = st == SLUICE_OK ? strcspn(text, "\n") : 0;

    return st == SLUICE_OK ? sluice_sample_lend(sample, "line", &length, text, length) : st;
}

/* Your training. */
static sluice_status step(const sluice_step *s, void *user)
{
    const char *line = sluice_step_input(s, "line")->data; /* (1, 1000) */
    const int32_t *length = sluice_step_input(s, "line_length")->data;

    fprintf(user, "%d %.*s\n", *length, *length, line);
    return SLUICE_OK;
}

int main(int argc, char **argv)
{
    const sluice_column_spec column = {"line", SLUICE_U8, 1, {1000}, SLUICE_ROLE_PLAIN, 1, NULL};
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_source source;
    sluice_model model;
    sluice_train_config config;
    sluice_status st = sluice_device_open("host:0", &device);

    sluice_source_init(&source);
    source.name = "lines";
    source.columns = &column;
    source.column_count = 1;
    source.next = next_line;
    source.open_pass = begin_again;
    source.user = argc == 3 ? fopen(argv[1], "r") : NULL;
    sluice_model_init(&model);
    model.step = step;
    model.user = stdout;
    sluice_train_config_init(&config);
    config.max_steps = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    st = source.user != NULL
             ? st
             : sluice_fail(SLUICE_E_IO, "cannot open FILE: the arguments must be FILE STEPS");
    st = st < 0 ? st : sluice_dataset_source(&source, &dataset);
    st = st < 0 ? st : sluice_dataset_add(dataset, "batch 1 drop_remainder=true");
    st = st < 0 ? st : sluice_train(device, &model, dataset, &config, NULL);
    if (st < 0) {
        fprintf(stderr, "%s: %s\n", sluice_status_name(st), sluice_last_error());
    }
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    return st < 0 ? 1 : 0;
}
