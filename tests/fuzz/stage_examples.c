/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_examples.h"

#include <stdio.h>
#include <string.h>

#include <sluice/dataset.h>

enum { NAME = 64, TEXT = 400 };

/* Makes a pipeline with a stage: the example in its help or, without one, no arguments. */
static void make_text(const char *name, char text[TEXT])
{
    static const char mark[] = "\n    Example: ";
    const char *example = NULL;
    char *help = NULL;

    if (sluice_stage_help(name, &help) == SLUICE_OK) {
        example = strstr(help, mark);
    }
    example = example != NULL ? example + sizeof(mark) - 1 : name;
    snprintf(text, TEXT, "synthetic | %.*s%s", (int)strcspn(example, "\n"), example,
             strncmp(example, "batch", 5) == 0 ? "" : " | batch 2");
    sluice_string_free(help);
}

size_t for_each_example(void (*take)(const char *name, const char *text, void *user), void *user)
{
    char *help = NULL;
    size_t count = 0;

    if (sluice_stage_help(NULL, &help) != SLUICE_OK) {
        return 0;
    }
    for (const char *line = help; *line != '\0'; line += strcspn(line, "\n") + 1) {
        char name[NAME];
        char text[TEXT];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, " \n"), line);
        if (line[0] >= 'a' && line[0] <= 'z' && count < EXAMPLES_MOST) {
            make_text(name, text);
            take(name, text, user);
            count++;
        }
    }
    sluice_string_free(help);
    return count;
}
