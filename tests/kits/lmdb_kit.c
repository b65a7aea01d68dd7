/* SPDX-License-Identifier: Apache-2.0 */
#include "lmdb_kit.h"

#include "bytes_int.h"
#include "testing.h"

enum { HEAD = 16, NODE = 8 };

uint8_t *lmdb_page(lmdb_bytes *file, uint32_t number)
{
    T_TRUE(((size_t)number + 1) * file->page_size <= sizeof(file->data));
    file->pages = number < file->pages ? file->pages : number + 1;
    return file->data + (size_t)number * file->page_size;
}

void lmdb_put_meta(lmdb_bytes *file, uint32_t number, const lmdb_root *root)
{
    uint8_t *page = lmdb_page(file, number);
    uint8_t *meta = page + HEAD;

    sli_put_u64(page, number);
    sli_put_u16(page + 10, LMDB_KIT_META);
    sli_put_u32(meta, UINT32_C(0xbeefc0de));
    sli_put_u32(meta + 4, 1);
    sli_put_u64(meta + 16, 1 << 20);
    sli_put_u32(meta + 24, file->page_size);
    sli_put_u64(meta + 64, UINT64_MAX); /* no free pages */
    sli_put_u16(meta + 76, (uint16_t)root->flags);
    sli_put_u16(meta + 78, (uint16_t)root->depth);
    sli_put_u64(meta + 104, root->entries);
    sli_put_u64(meta + 112, root->root);
    sli_put_u64(meta + 128, root->transaction);
}

void lmdb_begin(lmdb_bytes *file, uint32_t number, uint32_t kind)
{
    uint8_t *page = lmdb_page(file, number);

    memset(page, 0, file->page_size);
    sli_put_u64(page, number);
    sli_put_u16(page + 10, (uint16_t)kind);
    sli_put_u16(page + 12, HEAD);
    sli_put_u16(page + 14, (uint16_t)file->page_size);
}

uint8_t *lmdb_add(lmdb_bytes *file, uint32_t number, const char *key, uint32_t flags,
                  const void *value, uint64_t size)
{
    uint8_t *page = lmdb_page(file, number);
    const uint32_t lower = sli_get_u16(page + 12);
    const uint32_t key_size = (uint32_t)strlen(key);
    const uint32_t bytes = NODE + key_size + (value != NULL ? (uint32_t)size : 0);
    const uint32_t upper = (sli_get_u16(page + 14) - bytes) & ~1U;

    T_TRUE(sli_get_u16(page + 14) > bytes && upper >= lower + 2);
    sli_put_u16(page + lower, (uint16_t)upper);
    sli_put_u16(page + 12, (uint16_t)(lower + 2));
    sli_put_u16(page + 14, (uint16_t)upper);
    sli_put_u32(page + upper, (uint32_t)size);
    sli_put_u16(page + upper + 4, (uint16_t)(value != NULL ? flags : size >> 32));
    sli_put_u16(page + upper + 6, (uint16_t)key_size);
    memcpy(page + upper + NODE, key, key_size);
    if (value != NULL) {
        memcpy(page + upper + NODE + key_size, value, size);
    }
    return page + upper;
}

void lmdb_add_overflow(lmdb_bytes *file, uint32_t number, const char *key, uint32_t at,
                       const void *value, uint32_t size)
{
    const uint32_t pages = (HEAD - 1 + size) / file->page_size + 1;
    uint8_t place[8];
    uint8_t *page = lmdb_page(file, at);

    sli_put_u64(place, at);
    sli_put_u32(lmdb_add(file, number, key, 1, place, sizeof(place)), size);
    (void)lmdb_page(file, at + pages - 1);
    sli_put_u64(page, at);
    sli_put_u16(page + 10, LMDB_KIT_OVERFLOW);
    sli_put_u32(page + 12, pages);
    memcpy(page + HEAD, value, size);
}
