/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a pipeline with the example of each stage into a folder: make_pipeline_seeds FOLDER. */
#include <stdio.h>
#include <stdlib.h>

#include "stage_examples.h"

static void write_seed(const char *name, const char *text, void *user)
{
    const char *folder = user;
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/example-%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_pipeline_seeds FOLDER\n");
        return 2;
    }
    return for_each_example(write_seed, argv[1]) > 0 ? 0 : 1;
}
