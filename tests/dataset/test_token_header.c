/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"
#include "token_header.h"
#include "tokens_kit.h"

static sluice_status parse(const uint8_t *head, uint64_t file_bytes, token_type type,
                           token_header *header)
{
    return token_header_parse(head, file_bytes < TOKEN_HEAD ? (size_t)file_bytes : TOKEN_HEAD,
                              file_bytes, type, header);
}

static void both_headers_of_llmc_are_read(void)
{
    for (uint32_t bytes = 2; bytes <= 4; bytes += 2) {
        uint8_t head[TOKEN_HEAD];
        token_header header;

        tokens_head(bytes, 1000, head);
        T_OK(parse(head, TOKEN_HEAD + 1000 * bytes, TOKENS_AUTO, &header));
        T_EQ(header.token_bytes, bytes);
        T_EQ(header.data_at, 1024);
        T_EQ(header.count, 1000);
        tokens_head(bytes, INT32_MAX, head);
        T_OK(parse(head, TOKEN_HEAD + (uint64_t)INT32_MAX * bytes, TOKENS_AUTO, &header));
        T_EQ(header.count, INT32_MAX);
    }
}

static void plain_files_are_as_long_as_they_are(void)
{
    const uint8_t head[TOKEN_HEAD] = {1, 2, 3};
    token_header header;

    T_OK(parse(head, 10, TOKENS_U16, &header));
    T_TRUE(header.token_bytes == 2 && header.data_at == 0 && header.count == 5);
    T_OK(parse(head, UINT64_C(1) << 40, TOKENS_U32, &header));
    T_TRUE(header.token_bytes == 4 && header.count == UINT64_C(1) << 38);
    T_STATUS(parse(head, 11, TOKENS_U16, &header), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "must be a multiple of 2");
    T_STATUS(parse(head, 10, TOKENS_U32, &header), SLUICE_E_CORRUPT);
    T_STATUS(parse(head, 0, TOKENS_U16, &header), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "empty");
}

static void files_of_another_length_are_refused(void)
{
    uint8_t head[TOKEN_HEAD];
    token_header header;

    tokens_head(2, 1000, head);
    T_STATUS(parse(head, TOKEN_HEAD + 1999, TOKENS_AUTO, &header), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "3023 bytes, and 3024 by its header");
    T_CONTAINS(sluice_last_error(), "truncated");
    T_STATUS(parse(head, TOKEN_HEAD + 2002, TOKENS_AUTO, &header), SLUICE_E_CORRUPT);
    T_STATUS(parse(head, TOKEN_HEAD, TOKENS_AUTO, &header), SLUICE_E_CORRUPT);
    T_STATUS(parse(head, TOKEN_HEAD - 1, TOKENS_AUTO, &header), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "fewer than the 1024");
    T_STATUS(parse(head, 0, TOKENS_AUTO, &header), SLUICE_E_CORRUPT);
}

static void other_headers_are_refused(void)
{
    static const struct {
        int at;
        uint8_t byte;
        const char *words;
    } bad[] = {
        {0, 0x99, "not a magic number"},  {4, 2, "version 2"},  {7, 1, "version 16777217"},
        {11, 0x80, "must be at least 1"}, {11, 1, "truncated"},
    };
    token_header header;
    uint8_t head[TOKEN_HEAD];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        tokens_head(2, 1000, head);
        head[bad[i].at] = bad[i].byte;
        T_STATUS(parse(head, TOKEN_HEAD + 2000, TOKENS_AUTO, &header), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
    tokens_head(4, 0, head);
    T_STATUS(parse(head, TOKEN_HEAD, TOKENS_AUTO, &header), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "0 tokens");
}

/* A header that is read as tokens would be silent noise. */
static void a_header_is_not_read_as_tokens(void)
{
    uint8_t head[TOKEN_HEAD];
    token_header header;

    tokens_head(2, 1000, head);
    T_STATUS(parse(head, TOKEN_HEAD + 2000, TOKENS_U16, &header), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "leave dtype at auto");
    T_STATUS(parse(head, TOKEN_HEAD + 2000, TOKENS_U32, &header), SLUICE_E_INVALID);
    /* Tokens that only begin like one. */
    T_OK(parse(head, TOKEN_HEAD + 2004, TOKENS_U16, &header));
    T_EQ(header.count, 1514);
}

const t_test token_header_tests[] = {
    T_TEST(both_headers_of_llmc_are_read),       T_TEST(plain_files_are_as_long_as_they_are),
    T_TEST(files_of_another_length_are_refused), T_TEST(other_headers_are_refused),
    T_TEST(a_header_is_not_read_as_tokens),      T_END,
};
