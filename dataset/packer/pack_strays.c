/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "pack_strays.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_int.h"
#include "pack_shard.h"

/* Skips one or more digits. False: there is no digit. */
static bool skip_digits(const char **text)
{
    const size_t length = strspn(*text, "0123456789");

    *text += length;
    return length > 0;
}

static bool skip_word(const char **text, const char *word)
{
    const size_t length = strlen(word);
    const bool found = strncmp(*text, word, length) == 0;

    *text += found ? length : 0;
    return found;
}

/*
 * True if the name is a temporary name that shard_index_write() uses for an index. *number_out:
 * number of the index's shard.
 */
static bool is_stray(const char *name, uint32_t *number_out)
{
    const char *at = name;
    char want[PACK_SHARD_NAME_SIZE];

    if (!skip_word(&at, "shard-")) {
        return false;
    }
    *number_out = (uint32_t)strtoul(at, NULL, 10);
    pack_shard_name(*number_out, ".tar.sluice.", want);
    at = name;
    return skip_word(&at, want) && skip_digits(&at) && skip_word(&at, "-") && skip_digits(&at) &&
           strcmp(at, ".tmp") == 0;
}

static int is_any_stray(const struct dirent *entry)
{
    uint32_t number;

    return is_stray(entry->d_name, &number);
}

/* Lists all stray files, sorted by name; the caller frees the list by free_list(). */
static sluice_status list_entries(const pack_folder *folder, struct dirent ***entries_out,
                                  int *count_out)
{
    *count_out = scandirat(folder->fd, ".", entries_out, is_any_stray, alphasort);
    return *count_out >= 0 ? SLUICE_OK
                           : sli_fail_errno(errno == ENOMEM ? SLUICE_E_NO_MEMORY : SLUICE_E_IO,
                                            errno, "cannot list the folder %s", folder->path);
}

static void free_list(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++) {
        free(entries[i]);
    }
    free(entries);
}

static bool is_finished(const pack_folder *folder, const char *stray)
{
    char archive[PACK_SHARD_NAME_SIZE];
    uint32_t number = 0;

    (void)is_stray(stray, &number);
    pack_shard_name(number, folder->writer->end, archive);
    return faccessat(folder->fd, archive, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

sluice_status pack_strays_remove(const pack_folder *folder)
{
    struct dirent **entries = NULL;
    int count = 0;
    sluice_status st = list_entries(folder, &entries, &count);

    for (int i = 0; st == SLUICE_OK && i < count; i++) {
        const char *name = entries[i]->d_name;

        if (!is_finished(folder, name)) {
            st = pack_folder_remove(folder, name);
            if (st == SLUICE_OK) {
                sli_log(SLUICE_LOG_INFO, "%s/%s removed: a run that was killed left it",
                        folder->path, name);
            }
        }
    }
    free_list(entries, count);
    return st;
}

sluice_status pack_strays_count(const pack_folder *folder, uint64_t *count_out, char *name,
                                size_t size)
{
    struct dirent **entries = NULL;
    int count = 0;
    sluice_status st = list_entries(folder, &entries, &count);

    *count_out =
        st == SLUICE_OK && count > 0 && !pack_folder_is_locked(folder) ? (uint64_t)count : 0;
    snprintf(name, size, "%s", *count_out > 0 ? entries[0]->d_name : "");
    free_list(entries, count);
    return st;
}
