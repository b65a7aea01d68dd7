/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_failure.h"

#include <string.h>

#include "status_int.h"

/* Limit on the negated status that is sent, in 8 bits. */
enum { STATUS_MOST = 255 };

void rank_failure_set(uint32_t rank, const sli_error *error, rank_failure *failure_out)
{
    static const char more[] = "...";
    size_t length = strlen(error->text);

    memset(failure_out, 0, sizeof(*failure_out));
    failure_out->rank = rank;
    failure_out->status = error->status;
    if (length <= FAILURE_TEXT) {
        memcpy(failure_out->text, error->text, length);
        return;
    }
    length = FAILURE_TEXT - (sizeof(more) - 1);
    while (length > 0 && ((unsigned char)error->text[length] & 0xC0) == 0x80) {
        length--; /* a UTF-8 continuation byte */
    }
    memcpy(failure_out->text, error->text, length);
    memcpy(failure_out->text + length, more, sizeof(more) - 1);
}

int64_t rank_failure_value(const rank_failure *failure)
{
    const int64_t number = -(int64_t)failure->status;

    return INT64_MAX -
           ((int64_t)failure->rank << 8 | (number < STATUS_MOST ? number : STATUS_MOST));
}

/* Returns the next FAILURE_BYTES bytes of a text, which zeros pad, as a big-endian number. */
static int64_t pack(const char *text)
{
    int64_t value = 0;

    for (size_t i = 0; i < FAILURE_BYTES; i++) {
        value = value << 8 | (unsigned char)text[i];
    }
    return value;
}

/* Reverses pack(). Returns false once the text has ended. */
static bool unpack(int64_t value, char *text)
{
    for (size_t i = FAILURE_BYTES; i > 0; i--) {
        text[i - 1] = (char)(value & 0xFF);
        value >>= 8;
    }
    return memchr(text, '\0', FAILURE_BYTES) == NULL;
}

sluice_status rank_failure_exchange(int64_t most, const rank_failure *own, sluice_agree_fn agree,
                                    void *user, rank_failure *first_out)
{
    const int64_t code = INT64_MAX - most;
    const bool sends = own != NULL && own->rank == (uint32_t)(code >> 8);
    bool goes_on = true;

    memset(first_out, 0, sizeof(*first_out));
    first_out->rank = (uint32_t)(code >> 8);
    first_out->status = (sluice_status) - (code & STATUS_MOST);
    for (size_t at = 0; goes_on && at < FAILURE_TEXT; at += FAILURE_BYTES) {
        int64_t value = INT64_MIN;
        const sluice_status st = agree(sends ? pack(own->text + at) : INT64_MIN, &value, user);

        if (st < 0) {
            return st;
        }
        if (value < 0 || value >= INT64_C(1) << (8 * FAILURE_BYTES)) {
            return sli_fail(SLUICE_E_CALLBACK,
                            "agree returned %lld, which no rank has sent: the ranks do not call it "
                            "equally often",
                            (long long)value);
        }
        goes_on = unpack(value, first_out->text + at);
    }
    return SLUICE_OK;
}
