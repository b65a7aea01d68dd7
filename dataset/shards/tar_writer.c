/* SPDX-License-Identifier: Apache-2.0 */
/* Writes tar archives, through libarchive. */
#include "tar_writer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "archive_calls.h"
#include "descriptor_int.h"
#include "status_int.h"
#include "write_failure.h"

/* Size of the write buffer, and so of most write() calls. */
enum { BUFFER = 1 << 20 };

struct tar_writer {
    int fd;
    const char *path;
    struct archive *archive;
    struct archive_entry *entry;
    size_t used; /* bytes in buffer */
    uint64_t bytes;
    int error; /* errno of the failed write; 0: no write has failed */
    uint8_t buffer[BUFFER];
};

sluice_status tar_writer_check(void)
{
    return archive_calls_load();
}

/* ---- the file ------------------------------------------------------------------------------- */

static bool write_out(tar_writer *writer, const uint8_t *bytes, size_t size)
{
    if (writer->error == 0 && sli_write(writer->fd, bytes, size) != 0) {
        writer->error = errno;
    }
    return writer->error == 0;
}

static bool flush_buffer(tar_writer *writer)
{
    const size_t used = writer->used;

    writer->used = 0;
    return write_out(writer, writer->buffer, used);
}

/*
 * libarchive's write callback. It buffers because libarchive writes a member's header and contents
 * separately. It never returns an error, since libarchive would then leak memory; callers check
 * writer->error instead.
 */
static la_ssize_t take_bytes(struct archive *archive, void *arg, const void *bytes, size_t size)
{
    tar_writer *writer = arg;
    bool done = writer->error == 0;

    (void)archive;
    if (done && size > BUFFER - writer->used) {
        done = flush_buffer(writer);
    }
    if (done && size >= BUFFER) {
        write_out(writer, bytes, size);
    } else if (done) {
        memcpy(writer->buffer + writer->used, bytes, size);
        writer->used += size;
    }
    writer->bytes += size;
    return (la_ssize_t)size;
}

static sluice_status writer_failed(const tar_writer *writer)
{
    const int error = writer->error;

    if (error != 0) {
        return file_write_failed(writer->path, error);
    }
    return sli_fail(archive_library->archive_errno(writer->archive) == ENOMEM ? SLUICE_E_NO_MEMORY
                                                                              : SLUICE_E_IO,
                    "cannot write %s: %s", writer->path,
                    archive_library->archive_error_string(writer->archive));
}

/* ---- the archive ---------------------------------------------------------------------------- */

sluice_status tar_writer_open(int fd, const char *path, tar_writer **writer_out)
{
    const sluice_status st = archive_calls_load();
    tar_writer *writer;
    bool is_open;

    if (st != SLUICE_OK) {
        return st;
    }
    writer = sli_calloc(1, sizeof(*writer));
    if (writer == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an archive");
    }
    writer->fd = fd;
    writer->path = path;
    writer->archive = archive_library->archive_write_new();
    writer->entry = archive_library->archive_entry_new();
    is_open =
        writer->archive != NULL && writer->entry != NULL &&
        archive_library->archive_write_set_format_ustar(writer->archive) == ARCHIVE_OK &&
        archive_library->archive_write_set_bytes_per_block(writer->archive, 0) == ARCHIVE_OK &&
        archive_library->archive_write_open(writer->archive, writer, NULL, take_bytes, NULL) ==
            ARCHIVE_OK;
    if (!is_open) {
        tar_writer_close(writer);
        return sli_fail(SLUICE_E_NO_MEMORY, "an archive");
    }
    *writer_out = writer;
    return SLUICE_OK;
}

/* Writes a part of a member's contents. */
static bool write_part(tar_writer *writer, const void *bytes, size_t size)
{
    return size == 0 ||
           archive_library->archive_write_data(writer->archive, bytes, size) == (la_ssize_t)size;
}

sluice_status tar_writer_add(tar_writer *writer, const char *name, const void *head,
                             size_t head_size, const void *bytes, size_t size)
{
    struct archive_entry *entry = archive_library->archive_entry_clear(writer->entry);

    archive_library->archive_entry_set_pathname(entry, name);
    archive_library->archive_entry_set_filetype(entry, AE_IFREG);
    archive_library->archive_entry_set_perm(entry, 0644);
    archive_library->archive_entry_set_size(entry, (la_int64_t)(head_size + size));
    archive_library->archive_entry_set_mtime(entry, 0, 0);
    archive_library->archive_entry_set_uid(entry, 0);
    archive_library->archive_entry_set_gid(entry, 0);
    if (archive_library->archive_write_header(writer->archive, entry) != ARCHIVE_OK ||
        !write_part(writer, head, head_size) || !write_part(writer, bytes, size) ||
        archive_library->archive_write_finish_entry(writer->archive) != ARCHIVE_OK ||
        writer->error != 0) {
        return writer_failed(writer);
    }
    return SLUICE_OK;
}

sluice_status tar_writer_finish(tar_writer *writer, uint64_t *bytes_out)
{
    if (archive_library->archive_write_close(writer->archive) != ARCHIVE_OK ||
        !flush_buffer(writer)) {
        return writer_failed(writer);
    }
    *bytes_out = writer->bytes;
    return SLUICE_OK;
}

void tar_writer_close(tar_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    writer->error = writer->error != 0 ? writer->error : ECANCELED; /* makes libarchive's last
                                                                       writes no-ops */
    archive_library->archive_write_free(writer->archive);
    archive_library->archive_entry_free(writer->entry);
    sli_free(writer);
}
