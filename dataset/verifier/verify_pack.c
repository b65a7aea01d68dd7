/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "verify_pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "log_int.h"
#include "pack_fields.h"
#include "pack_shard.h"
#include "pack_strays.h"
#include "pack_summary.h"
#include "status_int.h"

static void report(const verify_pack *pack, const char *name, const char *why)
{
    pack->reporter->report(pack->reporter->arg, name, why);
}

/* Facts gathered from a shard's list. */
typedef struct verify_list {
    const verify_pack *pack;
    bool has_first;
    uint64_t first; /* position in the list's first sample line */
    uint64_t lines;
    uint64_t written;
} verify_list;

static void note_line(void *arg, const pack_line *line)
{
    verify_list *list = arg;
    char why[PACK_WHY_SIZE];

    list->first = list->has_first ? list->first : line->position;
    list->has_first = true;
    list->lines++;
    list->written += !pack_is_left_out(line->fate);
    if (line->fate == SLUICE_PACK_LEFT_FAULT) {
        snprintf(why, sizeof(why), "it could not be read and was left out (%.150s); pack again",
                 line->why);
        report(list->pack, line->name, why);
    }
}

/*
 * Checks a shard's list: it must exist, belong to this archive, and begin where the previous list
 * ends.
 */
static sluice_status check_list(const verify_pack *pack, const pack_folder *folder, size_t number,
                                uint64_t *next)
{
    const verify_shard *shard = &pack->shards[number];
    verify_list list = {.pack = pack};
    char name[PACK_SHARD_NAME_SIZE];
    char want[PACK_SHARD_NAME_SIZE];
    uint64_t tar_bytes;
    uint64_t end = 0;
    sluice_status st;

    pack_shard_name((uint32_t)number, ".tar", want);
    if (strcmp(verify_shard_name(shard), want) != 0) {
        report(pack, shard->path, "it is not a shard of the pack, or an earlier one is missing");
        return SLUICE_OK;
    }
    pack_shard_name((uint32_t)number, ".tsv", name);
    st = pack_shard_read(folder, (uint32_t)number, note_line, &list, &tar_bytes, &end);
    if (st != SLUICE_OK) {
        return st;
    }
    if (end == 0) {
        report(pack, name, "the list is missing, corrupt, or not of this archive");
    } else if (list.first != *next || list.first + list.lines != end) {
        report(pack, name, "the list does not continue where the one before it ends");
    } else if (list.written != shard->index.count) {
        report(pack, name, "the list has not as many samples as the archive");
    }
    *next = end != 0 ? end : *next;
    return SLUICE_OK;
}

/* Logs a warning about stray files. They are harmless: nothing reads them. */
static sluice_status warn_of_strays(const pack_folder *folder)
{
    uint64_t count;
    char name[PACK_NAME_SIZE];
    sluice_status st = pack_strays_count(folder, &count, name, sizeof(name));

    if (st == SLUICE_OK && count > 0) {
        sli_log(SLUICE_LOG_WARN,
                "%s: temporary files that killed processes have left: %" PRIu64
                ", first %s; `sluice pack` removes those of unfinished shards, others can be "
                "deleted",
                folder->path, count, name);
    }
    return st;
}

/* Checks whether the pack is complete, and has as many shards as its summary says. */
static sluice_status check_summary(const verify_pack *pack, const pack_folder *folder,
                                   size_t shard_count)
{
    const char *command = pack_folder_command(folder);
    const char *noun = pack_folder_noun(folder);
    char why[PACK_WHY_SIZE] = "";
    char *text = NULL;
    sluice_status st = pack_folder_read(folder, PACK_SUMMARY, &text);
    pack_counts counts = {0, 0, 0};
    const bool is_summary = pack_counts_parse(text, &counts);

    if (st == SLUICE_OK && text == NULL && pack_folder_is_locked(folder)) {
        snprintf(why, sizeof(why), "the %s is not complete: a process writes it; wait for its end",
                 noun);
    } else if (st == SLUICE_OK && text == NULL) {
        snprintf(why, sizeof(why),
                 "the %s is not complete; run the same `sluice %s` again to continue it (pack.txt "
                 "has its source and options)",
                 noun, command);
    } else if (st == SLUICE_OK && !is_summary) {
        snprintf(why, sizeof(why), "it is corrupt; run the same `sluice %s` again to write it",
                 command);
    } else if (st == SLUICE_OK && counts.shards != shard_count) {
        snprintf(why, sizeof(why),
                 "it lists %" PRIu64 " shards, and the folder has %zu; run the same `sluice %s` "
                 "again to write those that are missing",
                 counts.shards, shard_count, command);
    }
    if (why[0] != '\0') {
        report(pack, PACK_SUMMARY, why);
    }
    sli_free(text);
    return st;
}

/* Finds which command wrote the folder: pack.txt of a conversion has a line with its format. */
static sluice_status find_command(pack_folder *folder, const pack_marks *marks)
{
    char *text = NULL;
    const sluice_status st = pack_folder_read(folder, PACK_OPTIONS, &text);

    folder->is_conversion = text != NULL ? strstr(text, "\nformat ") != NULL : marks->is_converted;
    sli_free(text);
    return st;
}

/* Checks the lists of a conversion: each begins where the one before it ends, and together they
 * have the samples that were read. Counts its files. */
static sluice_status check_lists(const verify_pack *pack, const pack_folder *folder,
                                 size_t *count_out)
{
    uint64_t written = 0;
    uint64_t next = 0;

    for (uint32_t number = 0;; number++) {
        verify_list list = {.pack = pack};
        char name[PACK_SHARD_NAME_SIZE];
        uint64_t bytes;
        uint64_t end = 0;
        bool has_index = true;
        sluice_status st;

        pack_shard_name(number, folder->writer->end, name);
        *count_out = number;
        if (faccessat(folder->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
            break;
        }
        st = pack_shard_read(folder, number, note_line, &list, &bytes, &end);
        if (st != SLUICE_OK) {
            return st;
        }
        if (end == 0 || list.first != next || list.first + list.lines != end) {
            report(pack, name,
                   "its list is missing, corrupt, not of this file, or does not "
                   "continue where the one before it ends");
        }
        st = pack_shard_has_index(folder, number, &has_index);
        if (st != SLUICE_OK) {
            return st;
        }
        if (!has_index) {
            report(pack, name, "a file that belongs to it is missing or empty");
        }
        next = end != 0 ? end : next;
        written += list.written;
    }
    if (written != pack->samples) {
        report(pack, pack->path, "the lists have not as many samples as the files");
    }
    return SLUICE_OK;
}

sluice_status verify_pack_check(const verify_pack *pack, const pack_marks *marks)
{
    pack_folder folder = {
        .path = pack->path,
        .fd = sli_openat(AT_FDCWD, pack->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL),
        .lock_fd = -1,
        .writer = pack->writer != NULL ? pack->writer : &web_writer,
        .has_indexes = !marks->is_converted};
    size_t shard_count = pack->shard_count;
    uint64_t next = 0;
    sluice_status st;

    if (folder.fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the folder %s", folder.path);
    }
    st = find_command(&folder, marks);
    for (size_t i = 0; st == SLUICE_OK && i < pack->shard_count; i++) {
        st = check_list(pack, &folder, i, &next);
    }
    if (st == SLUICE_OK && marks->is_converted) {
        st = check_lists(pack, &folder, &shard_count);
    }
    if (st == SLUICE_OK) {
        st = warn_of_strays(&folder);
    }
    if (st == SLUICE_OK && marks->is_corrupt) {
        report(pack, PACK_CORRUPT, PACK_CORRUPT_WHY);
    } else if (st == SLUICE_OK) {
        st = check_summary(pack, &folder, shard_count);
    }
    close(folder.fd);
    return st;
}
