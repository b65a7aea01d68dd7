/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "small_file_int.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool sli_small_file_read(const char *path, char *text, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t used = 0;
    ssize_t got = 1;

    while (file >= 0 && got > 0 && used + 1 < size) {
        do {
            got = read(file, text + used, size - 1 - used);
        } while (got < 0 && errno == EINTR);
        used += got > 0 ? (size_t)got : 0;
    }
    text[used] = '\0';
    if (file >= 0) {
        close(file);
    }
    return file >= 0 && got >= 0;
}

bool sli_digits_parse(const char **at, int64_t *number_out)
{
    const char *first = *at;
    int64_t number = 0;

    for (; **at >= '0' && **at <= '9'; (*at)++) {
        const int64_t digit = **at - '0';

        if (number > (INT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *number_out = number;
    return *at > first;
}
