/* SPDX-License-Identifier: Apache-2.0 */
#include "token_header.h"

#include "status_int.h"

/* Indexes of the header's int32 fields. */
enum { FIELD_MAGIC, FIELD_VERSION, FIELD_COUNT };

/* The headers that programs of llm.c write. */
static const struct {
    uint32_t magic;
    uint32_t version;
    uint32_t token_bytes;
} kinds[] = {
    {20240520, 1, 2}, /* GPT-2 */
    {20240801, 7, 4}, /* Llama 3 */
};

static uint32_t field(const uint8_t *bytes, int number)
{
    const uint8_t *at = bytes + 4 * number;

    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Returns the index in `kinds` of the file's magic number; -1: not in `kinds`. */
static int find_kind(const uint8_t *bytes, size_t size)
{
    for (int i = 0; size >= TOKEN_HEAD && i < (int)(sizeof(kinds) / sizeof(kinds[0])); i++) {
        if (kinds[i].magic == field(bytes, FIELD_MAGIC)) {
            return i;
        }
    }
    return -1;
}

static sluice_status no_header(const uint8_t *bytes, size_t size)
{
    if (size < TOKEN_HEAD) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "it has %zu bytes, fewer than the %d of llm.c's header; dtype=u16 or "
                        "dtype=u32 reads a file without a header",
                        size, TOKEN_HEAD);
    }
    return sli_fail(SLUICE_E_CORRUPT,
                    "it begins with %u, which is not a magic number of llm.c's token files (%u, "
                    "%u); dtype=u16 or dtype=u32 reads a file without a header",
                    field(bytes, FIELD_MAGIC), kinds[0].magic, kinds[1].magic);
}

static sluice_status parse_header(const uint8_t *bytes, size_t size, uint64_t file_bytes,
                                  token_header *header)
{
    const int kind = find_kind(bytes, size);
    int32_t count;
    uint64_t end;

    if (kind < 0) {
        return no_header(bytes, size);
    }
    if (field(bytes, FIELD_VERSION) != kinds[kind].version) {
        return sli_fail(
            SLUICE_E_CORRUPT,
            "its llm.c header has version %u with magic number %u; the version must be %u",
            field(bytes, FIELD_VERSION), kinds[kind].magic, kinds[kind].version);
    }
    count = (int32_t)field(bytes, FIELD_COUNT);
    if (count <= 0) {
        return sli_fail(SLUICE_E_CORRUPT, "its header gives %d tokens; there must be at least 1",
                        count);
    }
    end = TOKEN_HEAD + (uint64_t)count * kinds[kind].token_bytes;
    if (file_bytes != end) {
        return sli_fail(SLUICE_E_CORRUPT, "it has %llu bytes, and %llu by its header (%d tokens)%s",
                        (unsigned long long)file_bytes, (unsigned long long)end, count,
                        file_bytes < end ? ": it is truncated" : "");
    }
    *header = (token_header){kinds[kind].token_bytes, TOKEN_HEAD, (uint64_t)count};
    return SLUICE_OK;
}

sluice_status token_header_parse(const uint8_t *bytes, size_t size, uint64_t file_bytes,
                                 token_type type, token_header *header_out)
{
    const uint32_t token_bytes = type == TOKENS_U16 ? 2 : 4;
    token_header header;

    if (file_bytes == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "it is empty");
    }
    if (type == TOKENS_AUTO) {
        return parse_header(bytes, size, file_bytes, header_out);
    }
    /* The caller says that the file is plain, but it has a valid header with its exact length. That
     * cannot be a coincidence, so refuse it. */
    if (find_kind(bytes, size) >= 0 &&
        parse_header(bytes, size, file_bytes, &header) == SLUICE_OK) {
        return sli_fail(SLUICE_E_INVALID,
                        "it has a header of llm.c, which dtype=u16 and dtype=u32 would read as "
                        "tokens; leave dtype at auto");
    }
    if (file_bytes % token_bytes != 0) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "its %llu bytes must be a multiple of %u, the size of a token",
                        (unsigned long long)file_bytes, token_bytes);
    }
    *header_out = (token_header){token_bytes, 0, file_bytes / token_bytes};
    return SLUICE_OK;
}
