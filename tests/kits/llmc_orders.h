/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders of llm.c's data loader, llmc/dataloader.h there, at commit f1e2ace. A program outside of
 * this project called its functions for the files below, and hashed (FNV-1a over 64-bit numbers)
 * the number of each batch's first window, windows of LLMC_SEQ tokens being numbered through all
 * files.
 */
#ifndef SLUICE_LLMC_ORDERS_H
#define SLUICE_LLMC_ORDERS_H

#include <stdbool.h>
#include <stdint.h>

enum { LLMC_SEQ = 16, LLMC_FILES = 4, LLMC_BATCHES = 5000, LLMC_RESETS_BATCHES = 3000 };

/* Tokens of the files, and the number of each one's first window. */
static const uint32_t llmc_tokens[LLMC_FILES] = {5000, 1026, 20001, 3001};
static const uint64_t llmc_firsts[LLMC_FILES] = {0, 312, 376, 1626};

typedef struct llmc_expected {
    uint32_t batch;
    uint32_t world;
    uint32_t rank;
    bool shuffled;
    uint64_t hash;
} llmc_expected;

/* LLMC_BATCHES batches. */
static const llmc_expected llmc_orders[] = {
    {1, 1, 0, false, UINT64_C(0x83ca4d048daef6d6)}, {1, 2, 0, false, UINT64_C(0x25fb6b642e362c4d)},
    {1, 2, 1, false, UINT64_C(0x49e3e2af23d479cd)}, {1, 4, 0, false, UINT64_C(0xceb7cabd5a433e1d)},
    {1, 4, 3, false, UINT64_C(0x160bbcda82796921)}, {4, 1, 0, false, UINT64_C(0xceb7cabd5a433e1d)},
    {4, 2, 0, false, UINT64_C(0x3c0bd9d11b6be4a5)}, {4, 2, 1, false, UINT64_C(0xbde2391e23e54485)},
    {4, 4, 0, false, UINT64_C(0xfa165bdd0584749d)}, {4, 4, 3, false, UINT64_C(0x1b880c4e438c2cad)},
    {1, 1, 0, true, UINT64_C(0xdbe5fd7378c54adc)},  {1, 2, 0, true, UINT64_C(0x1f400858ab5e8df7)},
    {1, 2, 1, true, UINT64_C(0xad0440941b2fe49d)},  {1, 4, 0, true, UINT64_C(0x06fb180e70b0bd9d)},
    {1, 4, 3, true, UINT64_C(0x779cc4afd1645731)},  {4, 1, 0, true, UINT64_C(0x06fb180e70b0bd9d)},
    {4, 2, 0, true, UINT64_C(0xe31e50a7b7393b0f)},  {4, 2, 1, true, UINT64_C(0xa4c18019276f2a9f)},
    {4, 4, 0, true, UINT64_C(0x3795618aca22d0af)},  {4, 4, 3, true, UINT64_C(0x07df6beafbb28455)},
};

/* LLMC_RESETS_BATCHES batches, with dataloader_reset() before those numbered 100, 101, 700, 1900.
 */
static const llmc_expected llmc_resets[] = {
    {2, 1, 0, false, UINT64_C(0xd9018804898714db)},
    {2, 2, 1, false, UINT64_C(0x2f16e9ddd89f6241)},
    {2, 1, 0, true, UINT64_C(0xf254245653117dc7)},
    {2, 2, 1, true, UINT64_C(0xf0ba6d8183df0439)},
};

static const uint64_t llmc_hash_begin = UINT64_C(14695981039346656037);

static inline uint64_t llmc_hash(uint64_t hash, uint64_t window)
{
    return (hash ^ window) * UINT64_C(1099511628211);
}

#endif
