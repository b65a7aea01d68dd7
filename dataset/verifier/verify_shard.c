/* SPDX-License-Identifier: Apache-2.0 */
#include "verify_shard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "crc32c_int.h"
#include "descriptor_int.h"
#include "fault_int.h"
#include "plain_file.h"
#include "status_int.h"

const char *verify_shard_name(const verify_shard *shard)
{
    const char *slash = strrchr(shard->path, '/');

    return slash != NULL ? slash + 1 : shard->path;
}

/*
 * Reports the last error as a problem of the file. A process fault, such as too few file
 * descriptors, is returned instead.
 */
static sluice_status report_error(const verify_reporter *reporter, const char *name,
                                  sluice_status status)
{
    if (sli_fault_is_of_process(sli_fault_of_last(status))) {
        return status;
    }
    reporter->report(reporter->arg, name, sluice_last_error());
    return SLUICE_OK;
}

/* ---- the index ------------------------------------------------------------------------------ */

/*
 * True if sample i is the same in an index built from the archive's headers and in a stored index.
 * CRCs are not compared, since only the stored index may have them.
 */
static bool is_same(const shard_index *walked, const shard_index *kept, uint64_t i)
{
    const shard_sample *a = &walked->samples[i];
    const shard_sample *b = &kept->samples[i];

    return a->offset == b->offset && a->size == b->size && a->label == b->label &&
           (a->flags | SHARD_HAS_CRC) == (b->flags | SHARD_HAS_CRC) &&
           strcmp(shard_sample_name(walked, i), shard_sample_name(kept, i)) == 0;
}

/*
 * Compares a stored index with the index built from the archive's headers. If they agree, copies
 * the stored CRCs.
 */
static void compare_index(verify_shard *shard, const shard_index *kept, bool has_index,
                          const char *path, const verify_reporter *reporter)
{
    if (has_index && kept->count > 0 && !shard_index_is_by_content(kept)) {
        reporter->report(reporter->arg, path,
                         "the index has no checksums: it is not the one that `sluice pack` wrote");
    }
    if (kept->count != shard->index.count) {
        reporter->report(reporter->arg, path, "the index has not as many samples as the archive");
        return;
    }
    for (uint64_t i = 0; i < kept->count; i++) {
        if (!is_same(&shard->index, kept, i)) {
            reporter->report(reporter->arg, path, "the index is not that of the archive");
            return;
        }
    }
    for (uint64_t i = 0; i < kept->count; i++) {
        shard->index.samples[i].crc = kept->samples[i].crc;
        shard->index.samples[i].flags = kept->samples[i].flags;
    }
}

static sluice_status read_index(verify_shard *shard, bool has_index,
                                const verify_reporter *reporter)
{
    shard_index kept;
    char *path = NULL;
    sluice_status st = shard_index_path(shard->path, &shard_default_fields, &path);

    if (st != SLUICE_OK) {
        return st;
    }
    if (access(path, F_OK) == 0) {
        st = shard_index_read(path, shard->index.shard_size, &shard_default_fields, &kept);
        if (st == SLUICE_OK) {
            compare_index(shard, &kept, has_index, path, reporter);
            shard_index_free(&kept);
        } else if (st == SLUICE_E_UNSUPPORTED && !has_index) { /* version 1, without a stamp: made
                                                                  again */
            st = SLUICE_OK;
        } else {
            st = report_error(reporter, path, st);
        }
    } else if (has_index) {
        reporter->report(reporter->arg, path,
                         "the index is missing; copy it from another copy of the pack, or run the "
                         "same `sluice pack` again");
    }
    sli_free(path);
    return st;
}

/* ---- the archive ---------------------------------------------------------------------------- */

/* Reports problems of the archive that are not those of one sample. */
static void report_archive(const verify_shard *shard, const verify_reporter *reporter)
{
    char why[SHARD_FIRST_SIZE + 80];

    if (shard->index.imageless > 0) {
        snprintf(why, sizeof(why), "%" PRIu64 " samples have no image, the first is %s",
                 shard->index.imageless, shard->index.first_imageless);
        reporter->report(reporter->arg, shard->path, why);
    }
    if (shard->index.has_more) {
        reporter->report(reporter->arg, shard->path, "bytes follow the archive's end");
    }
    if (shard->index.lacks_end) {
        reporter->report(reporter->arg, shard->path,
                         "it ends without the zeros that end an archive: it may be truncated");
    }
}

sluice_status verify_shard_open(verify_shard *shard, const char *path, bool has_index,
                                const verify_reporter *reporter)
{
    uint64_t size;
    int fd = -1;
    sluice_status st = plain_file_open(path, NULL, &fd, &size);

    if (st != SLUICE_OK) {
        st = report_error(reporter, path, st);
    }
    shard->path = sli_strdup(path);
    if (shard->path == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "a path");
    } else if (fd >= 0) {
        st = shard_index_build(fd, path, &shard_default_fields, false, &shard->index);
        if (st != SLUICE_OK) {
            memset(&shard->index, 0, sizeof(shard->index));
            st = report_error(reporter, path, st);
        } else {
            report_archive(shard, reporter);
            st = read_index(shard, has_index, reporter);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

void verify_shard_close(verify_shard *shard)
{
    shard_index_free(&shard->index);
    sli_free(shard->path);
}

/* ---- samples -------------------------------------------------------------------------------- */

static sluice_status read_bytes(const verify_shard *shard, const shard_sample *sample,
                                sample_io *io)
{
    uint64_t size;
    ssize_t got;
    int fd;
    sluice_status st = plain_file_open(shard->path, io->interrupt, &fd, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    got = sli_pread(fd, io->bytes.data, sample->size, sample->offset);
    if (got < 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "cannot read");
    } else if ((uint64_t)got < sample->size) {
        st = sli_fail(SLUICE_E_CORRUPT, "the archive was truncated while reading");
    }
    close(fd);
    return st;
}

sluice_status verify_shard_read(const verify_shard *shard, uint64_t sample, sample_io *io,
                                bool *checked_out)
{
    const shard_sample *s = &shard->index.samples[sample];
    sluice_status st = SLUICE_OK;

    *checked_out = (s->flags & SHARD_HAS_CRC) != 0;
    if ((s->flags & SHARD_DUPLICATE) != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "it has two images or two labels");
    }
    if ((s->flags & SHARD_BAD_LABEL) != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "its label is not a number");
    }
    st = image_buffer_reserve(&io->bytes, s->size);
    if (st == SLUICE_OK) {
        st = read_bytes(shard, s, io);
    }
    if (st == SLUICE_OK && *checked_out && sli_crc32c(0, io->bytes.data, s->size) != s->crc) {
        st = sli_fail(SLUICE_E_CORRUPT, "the checksum differs: its bytes have changed");
    }
    return st;
}
