/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files of folders: what it does without libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

enum { FEWEST_SEEDS = 30 }; /* of a target */

static unsigned ran;

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NULL;
    long size;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 ||
        fseek(file, 0, SEEK_SET) != 0 || (data = malloc((size_t)size + 1)) == NULL ||
        fread(data, 1, (size_t)size, file) != (size_t)size) {
        fuzz_fail(path);
        return;
    }
    fclose(file);
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    ran++;
}

/* Arguments are folders of seeds; options of libFuzzer are passed over. */
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        DIR *folder = argv[i][0] != '-' ? opendir(argv[i]) : NULL;
        struct dirent *entry;

        if (argv[i][0] != '-' && folder == NULL) {
            fuzz_fail(argv[i]);
        }
        while (folder != NULL && (entry = readdir(folder)) != NULL) {
            char path[4096];

            if (entry->d_name[0] != '.') {
                snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
                run_file(path);
            }
        }
        if (folder != NULL) {
            closedir(folder);
        }
    }
    printf("%u inputs\n", ran);
    if (ran < FEWEST_SEEDS) {
        fprintf(stderr, "%u seeds, and there must be at least %d\n", ran, FEWEST_SEEDS);
    }
    return ran >= FEWEST_SEEDS ? 0 : 1;
}
