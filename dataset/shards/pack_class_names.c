/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_class_names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "escaped_text.h"
#include "log_int.h"
#include "pack_marks.h"
#include "plain_file.h"
#include "printable_int.h"
#include "status_int.h"

/* Limit on the bytes of the file. */
enum { MOST_BYTES = 1 << 20 };

static sluice_status no_memory(void)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the names of classes of a pack");
}

/* Finds whether all files are of the pack in the folder of the first one. */
static sluice_status find_pack(const file_list *list, bool *is_one_out)
{
    const char *first = list->paths[0];
    const size_t folder = pack_folder_length(first);
    pack_marks marks = {.shard = NULL};
    sluice_status st = SLUICE_OK;

    *is_one_out = true;
    for (size_t i = 0; i < list->count; i++) {
        if (pack_folder_length(list->paths[i]) != folder ||
            strncmp(list->paths[i], first, folder) != 0) {
            *is_one_out = false;
            return SLUICE_OK;
        }
    }
    st = pack_marks_of(&marks, first);
    for (size_t i = 0; i < list->count && st == SLUICE_OK; i++) {
        *is_one_out = *is_one_out && pack_marks_has(&marks, list->paths[i]);
    }
    return st;
}

/* Divides the text into its names. */
static sluice_status divide(pack_class_names *names, size_t size)
{
    const sluice_status st = escaped_text_lines(names->text, size, &names->names, &names->count);

    names->memory = size + 1 + ((uint64_t)names->count + 1) * sizeof(*names->names);
    return st;
}

static sluice_status read_file(pack_class_names *names, const char *path, size_t *got)
{
    uint64_t size = 0;
    int fd = -1;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    if (size > MOST_BYTES) {
        st = sli_fail(SLUICE_E_UNSUPPORTED, "it has %llu bytes, and must have at most %d",
                      (unsigned long long)size, MOST_BYTES);
    } else {
        names->text = sli_calloc((size_t)size + 1, 1);
        st = names->text != NULL ? plain_file_read(fd, 0, names->text, (size_t)size, got)
                                 : no_memory();
    }
    close(fd);
    return st;
}

/* Reads the file if it exists. */
static sluice_status read_names(pack_class_names *names, const char *source, const char *path)
{
    char printable[256];
    size_t got = 0;
    sluice_status st;

    if (access(path, F_OK) != 0) {
        return SLUICE_OK;
    }
    st = read_file(names, path, &got);
    st = st == SLUICE_OK ? divide(names, got) : st;
    if (st == SLUICE_OK || st == SLUICE_E_NO_MEMORY) {
        return st;
    }
    sli_printable(path, SLI_ONE_LINE, printable, sizeof(printable));
    sli_log(SLUICE_LOG_WARN, "%s: %s: %s; classes have no names", source, printable,
            sluice_last_error());
    return SLUICE_OK;
}

sluice_status pack_class_names_read(pack_class_names *names, const file_list *list)
{
    static const char file[] = "classes.txt";
    const size_t size = pack_folder_length(list->paths[0]);
    bool is_one = false;
    char *path;
    sluice_status st = find_pack(list, &is_one);

    if (st != SLUICE_OK || !is_one) {
        return st;
    }
    path = sli_calloc(size + sizeof(file), 1);
    if (path == NULL) {
        return no_memory();
    }
    memcpy(path, list->paths[0], size);
    memcpy(path + size, file, sizeof(file));
    st = read_names(names, list->kind->source, path);
    sli_free(path);
    return st;
}

void pack_class_names_free(pack_class_names *names)
{
    sli_free(names->names);
    sli_free(names->text);
}
