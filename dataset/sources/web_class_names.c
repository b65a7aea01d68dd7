/* SPDX-License-Identifier: Apache-2.0 */
#include "web_class_names.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "class_lines.h"
#include "escaped_text.h"
#include "log_int.h"
#include "plain_file.h"
#include "printable_int.h"
#include "status_int.h"

static sluice_status no_memory(void)
{
    return sli_fail(SLUICE_E_NO_MEMORY, "the names of classes of a pack");
}

/* True if all shards are files of the pack in the folder of the last one. */
static bool is_one_pack(const web_packs *packs, const file_list *list)
{
    const char *last = packs->marks.shard;
    const size_t folder = last != NULL ? (size_t)(web_base_of(last) - last) : 0;

    for (size_t i = 0; i < list->count; i++) {
        const char *path = list->paths[i];

        if (last == NULL || (size_t)(web_base_of(path) - path) != folder ||
            strncmp(path, last, folder) != 0 || !pack_marks_has(&packs->marks, path)) {
            return false;
        }
    }
    return list->count > 0;
}

/* Divides the text into its names. */
static sluice_status divide(web_class_names *names, size_t size)
{
    const sluice_status st = escaped_text_lines(names->text, size, &names->names, &names->count);

    names->memory = size + 1 + ((uint64_t)names->count + 1) * sizeof(*names->names);
    return st;
}

static sluice_status read_file(web_class_names *names, const char *path, size_t *got)
{
    uint64_t size = 0;
    int fd = -1;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    if (size > CLASS_LINES_MOST) {
        st = sli_fail(SLUICE_E_UNSUPPORTED, "names of classes may have %d bytes", CLASS_LINES_MOST);
    } else {
        names->text = sli_calloc((size_t)size + 1, 1);
        st = names->text != NULL ? plain_file_read(fd, 0, names->text, (size_t)size, got)
                                 : no_memory();
    }
    close(fd);
    return st;
}

sluice_status web_class_names_read(web_class_names *names, const web_packs *packs,
                                   const file_list *list)
{
    static const char file[] = "classes.txt";
    const char *last = packs->marks.shard;
    char *path;
    size_t size;
    size_t got = 0;
    sluice_status st = SLUICE_OK;

    if (!is_one_pack(packs, list)) {
        return SLUICE_OK;
    }
    size = (size_t)(web_base_of(last) - last);
    path = sli_calloc(size + sizeof(file), 1);
    if (path == NULL) {
        return no_memory();
    }
    memcpy(path, last, size);
    memcpy(path + size, file, sizeof(file));
    if (access(path, F_OK) == 0) {
        st = read_file(names, path, &got);
        st = st == SLUICE_OK ? divide(names, got) : st;
        if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) {
            char printable[256];

            sli_printable(path, SLI_ONE_LINE, printable, sizeof(printable));
            sli_log(SLUICE_LOG_WARN, "webdataset: %s: %s; classes have no names", printable,
                    sluice_last_error());
            st = SLUICE_OK;
        }
    }
    sli_free(path);
    return st;
}

void web_class_names_free(web_class_names *names)
{
    sli_free(names->names);
    sli_free(names->text);
}
