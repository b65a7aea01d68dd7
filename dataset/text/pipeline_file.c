/* SPDX-License-Identifier: Apache-2.0 */
/* Reads pipeline files as text. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "pipeline_text.h"
#include "status_int.h"

/* Maximum size of a pipeline file in bytes; larger files are refused. */
enum { FILE_MOST = 1 << 20 };

/* Reads an open file as text; the caller frees it by sli_free(). */
static sluice_status read_text(int fd, const char *path, char **text_out)
{
    struct stat info;
    ssize_t got;
    char *text;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        return sli_fail(SLUICE_E_INVALID, "%s: not a regular file; it must be a text of stages",
                        path);
    }
    text = sli_calloc(1, FILE_MOST + 2);
    if (text == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the pipeline in %s", path);
    }
    got = sli_read(fd, text, FILE_MOST + 1);
    if (got >= 0 && got <= FILE_MOST && strlen(text) == (size_t)got) {
        *text_out = text;
        return SLUICE_OK;
    }
    sli_free(text);
    return got < 0 ? sli_fail_errno(SLUICE_E_IO, errno, "cannot read the pipeline in %s", path)
           : got > FILE_MOST
               ? sli_fail(SLUICE_E_INVALID, "%s: larger than %d bytes; it must be a text of stages",
                          path, FILE_MOST)
               : sli_fail(SLUICE_E_INVALID, "%s: has a zero byte; it must be a text of stages",
                          path);
}

sluice_status pipeline_read_file(const char *path, char **text_out)
{
    sluice_status st;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a FIFO must not block */
    if (fd < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot open the pipeline in %s", path);
    }
    st = read_text(fd, path, text_out);
    close(fd);
    return st;
}
