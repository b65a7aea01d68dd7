/* SPDX-License-Identifier: Apache-2.0 */
#include "stderr_kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "testing.h"

void stderr_kit_begin(stderr_kit *k)
{
    int file;

    k->path = t_file("stderr");
    k->before = dup(STDERR_FILENO);
    file = open(k->path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    T_TRUE(k->before >= 0 && file >= 0);
    dup2(file, STDERR_FILENO);
    close(file);
}

void stderr_kit_read(const stderr_kit *k, char *text, size_t size)
{
    FILE *written = fopen(k->path, "r");

    text[0] = '\0';
    T_TRUE(written != NULL);
    if (written != NULL) {
        text[fread(text, 1, size - 1, written)] = '\0';
        fclose(written);
    }
}

void stderr_kit_end(const stderr_kit *k, char *text, size_t size)
{
    dup2(k->before, STDERR_FILENO);
    close(k->before);
    stderr_kit_read(k, text, size);
}
