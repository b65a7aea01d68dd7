/* SPDX-License-Identifier: Apache-2.0 */
#include "left_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "printable_int.h"

static bool is_sidecar(const char *name)
{
    return name[0] == '.' || strcmp(name, "Thumbs.db") == 0 || strcmp(name, "desktop.ini") == 0 ||
           sli_ends_in(name, ".sluice");
}

static void name_first(char *first, size_t size, const char *folder, const char *name)
{
    char text[560];

    snprintf(text, sizeof(text), "%.255s%s%.255s", folder, folder[0] != '\0' ? "/" : "", name);
    sli_printable(text, SLI_ONE_LINE, first, size);
}

void left_out_file(left_out *files, const char *folder, const char *name)
{
    const char *dot = strrchr(name, '.');
    char extension[LEFT_OUT_EXTENSION] = "";
    uint32_t i = 0;

    if (is_sidecar(name)) {
        return;
    }
    for (size_t k = 0; dot != NULL && dot[1 + k] != '\0' && k < sizeof(extension) - 1; k++) {
        extension[k] = sli_lower(dot[1 + k]);
    }
    if (files->first_file[0] == '\0') {
        name_first(files->first_file, sizeof(files->first_file), folder, name);
    }
    while (i < files->kind_count && strcmp(files->kinds[i].extension, extension) != 0) {
        i++;
    }
    if (i == LEFT_OUT_KINDS) {
        files->others++;
        return;
    }
    if (i == files->kind_count) {
        memcpy(files->kinds[i].extension, extension, sizeof(extension));
        files->kind_count++;
    }
    files->kinds[i].count++;
}

void left_out_folder(left_out *files, const char *folder, const char *name)
{
    if (!is_sidecar(name) && files->folders++ == 0) {
        name_first(files->first_folder, sizeof(files->first_folder), folder, name);
    }
}

bool left_out_print(const left_out *files, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < files->kind_count && length < size; i++) {
        const left_out_kind *kind = &files->kinds[i];
        char extension[2 * LEFT_OUT_EXTENSION];

        sli_printable(kind->extension, SLI_ONE_LINE, extension, sizeof(extension));
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64 " %s%s",
                                   i > 0 ? ", " : "", kind->count,
                                   extension[0] != '\0' ? "." : "without an extension", extension);
    }
    if (files->others > 0 && length < size) {
        length +=
            (size_t)snprintf(text + length, size - length, ", %" PRIu64 " others", files->others);
    }
    if (files->kind_count > 0 && length < size) {
        length +=
            (size_t)snprintf(text + length, size - length, " (first %.120s)", files->first_file);
    }
    if (files->folders > 0 && length < size) {
        snprintf(text + length, size - length, "%s%" PRIu64 " folder%s (first %.120s)",
                 length > 0 ? ", " : "", files->folders, files->folders == 1 ? "" : "s",
                 files->first_folder);
    }
    return text[0] != '\0';
}
