/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and atomic operations. Strong ones are atomic operations of C, so that kernels may
 * run while threads of the host work on the same words. */
#include <stdio.h>
#include <string.h>

#include "ptx_order.h"

/* ---- the access ------------------------------------------------------------------------------ */

static void *address(ptx_thread *t, const ptx_insn *i, bool reads, bool writes)
{
    const ptx_access *access = &i->access;
    const size_t bytes = (size_t)access->bytes * access->lanes;
    const uint64_t at = t->r[i->from[0]] + (uint64_t)i->offset;
    void *memory = (void *)(uintptr_t)at;

    if (at % bytes != 0) {
        ptx_fail(t, i, "the address is not a multiple of the size");
    }
    if (access->param) {
        for (unsigned k = 0; k < PTX_PARAMS; k++) {
            const uint64_t first = (uint64_t)(uintptr_t)t->launch->params[k];

            if (at >= first && at + bytes <= first + t->launch->kernel->param_bytes[k]) {
                return memory;
            }
        }
        ptx_fail(t, i, "the address is outside the parameters");
    }
    t->counts->loads += reads && !writes;
    t->counts->stores += writes;
    if (t->launch->host->access != NULL) {
        t->launch->host->access(memory, bytes, writes);
    }
    if (t->launch->order != NULL) {
        ptx_order_access(t->launch->order, t->block * t->launch->threads + t->index, memory, access,
                         reads, writes);
    }
    return memory;
}

static uint64_t value_at(const uint8_t *memory, uint8_t bytes)
{
    uint16_t half;
    uint32_t word;
    uint64_t value;

    switch (bytes) {
    case 1:
        return *memory;
    case 2:
        memcpy(&half, memory, sizeof(half));
        return half;
    case 4:
        memcpy(&word, memory, sizeof(word));
        return word;
    default:
        memcpy(&value, memory, sizeof(value));
        return value;
    }
}

static void do_load(ptx_thread *t, const ptx_insn *i)
{
    const uint8_t *memory = address(t, i, true, false);

    for (unsigned k = 0; k < i->access.lanes; k++) {
        t->r[i->to[k]] = value_at(memory + k * i->access.bytes, i->access.bytes);
    }
}

static void do_strong_load(ptx_thread *t, const ptx_insn *i)
{
    const void *memory = address(t, i, true, false);
    const int order = i->access.semantics == PTX_ACQUIRE ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;

    t->r[i->to[0]] = i->access.bytes == 4 ? __atomic_load_n((const uint32_t *)memory, order)
                                          : __atomic_load_n((const uint64_t *)memory, order);
}

/* Registers are little-endian, so their first bytes are the value. */
static void do_store(ptx_thread *t, const ptx_insn *i)
{
    uint8_t *memory = address(t, i, false, true);

    for (unsigned k = 0; k < i->access.lanes; k++) {
        memcpy(memory + k * i->access.bytes, &t->r[i->from[1 + k]], i->access.bytes);
    }
}

static void do_strong_store(ptx_thread *t, const ptx_insn *i)
{
    void *memory = address(t, i, false, true);
    const int order = i->access.semantics == PTX_RELEASE ? __ATOMIC_RELEASE : __ATOMIC_RELAXED;

    if (i->access.bytes == 4) {
        __atomic_store_n((uint32_t *)memory, (uint32_t)t->r[i->from[1]], order);
    } else {
        __atomic_store_n((uint64_t *)memory, t->r[i->from[1]], order);
    }
}

static void do_atomic_add(ptx_thread *t, const ptx_insn *i)
{
    t->r[i->to[0]] = __atomic_fetch_add((uint64_t *)address(t, i, true, true), t->r[i->from[1]],
                                        __ATOMIC_RELAXED);
}

/* Adds 1, but goes from the bound, or above, to 0. */
static void do_atomic_inc(ptx_thread *t, const ptx_insn *i)
{
    uint32_t *memory = address(t, i, true, true);
    const uint32_t bound = (uint32_t)t->r[i->from[1]];
    uint32_t old = __atomic_load_n(memory, __ATOMIC_RELAXED);

    while (!__atomic_compare_exchange_n(memory, &old, old >= bound ? 0 : old + 1, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    }
    t->r[i->to[0]] = old;
}

/* ---- names ----------------------------------------------------------------------------------- */

typedef struct memory_name {
    ptx_access access;
    bool known;
    bool is_volatile;
    char operation[8]; /* of an atomic */
} memory_name;

typedef struct word_value {
    const char *word;
    int value;
} word_value;

static bool found(const word_value *words, const char *word, uint8_t *value_out)
{
    for (; words->word != NULL; words++) {
        if (strcmp(words->word, word) == 0) {
            *value_out = (uint8_t)words->value;
            return true;
        }
    }
    return false;
}

static void take_word(memory_name *name, const char *word)
{
    static const word_value types[] = {{"u8", 1},  {"b8", 1},  {"u16", 2}, {"b16", 2},
                                       {"u32", 4}, {"b32", 4}, {"f32", 4}, {"u64", 8},
                                       {"b64", 8}, {"f64", 8}, {NULL, 0}};
    static const word_value vectors[] = {{"v2", 2}, {"v4", 4}, {NULL, 0}};
    static const word_value orders[] = {{"weak", PTX_WEAK},       {"relaxed", PTX_RELAXED},
                                        {"acquire", PTX_ACQUIRE}, {"release", PTX_RELEASE},
                                        {"acq_rel", PTX_ACQ_REL}, {NULL, 0}};
    static const word_value scopes[] = {
        {"cta", PTX_CTA}, {"gpu", PTX_GPU}, {"sys", PTX_SYS}, {NULL, 0}};

    if (found(types, word, &name->access.bytes) || found(vectors, word, &name->access.lanes) ||
        found(orders, word, &name->access.semantics) || found(scopes, word, &name->access.scope)) {
        return;
    }
    if (strcmp(word, "volatile") == 0) {
        name->is_volatile = true;
        name->access.semantics = PTX_RELAXED;
        name->access.scope = PTX_SYS;
    } else if (strcmp(word, "param") == 0) {
        name->access.param = true;
    } else if (strcmp(word, "nc") == 0) {
        name->access.non_coherent = true;
    } else if (strcmp(word, "inc") == 0 || strcmp(word, "add") == 0) {
        snprintf(name->operation, sizeof(name->operation), "%s", word);
    } else if (strcmp(word, "global") != 0) {
        name->known = false;
    }
}

ptx_function *ptx_memory_operation(const char *mnemonic, ptx_access *access_out)
{
    memory_name name = {.access = {.lanes = 1, .scope = PTX_GPU}, .known = true};
    char words[PTX_NAME];
    char *rest = NULL;
    const char *kind;
    bool strong;

    snprintf(words, sizeof(words), "%s", mnemonic);
    kind = strtok_r(words, ".", &rest);
    for (const char *word; (word = strtok_r(NULL, ".", &rest)) != NULL;) {
        take_word(&name, word);
    }
    if (kind == NULL || !name.known || name.access.bytes == 0) {
        return NULL;
    }
    if (strcmp(kind, "atom") == 0 && name.access.semantics == PTX_WEAK) {
        name.access.semantics = PTX_RELAXED; /* an atomic without a word is relaxed */
    }
    *access_out = name.access;
    strong = name.access.semantics != PTX_WEAK;
    if (strong && (name.access.lanes != 1 || name.access.bytes < 4 || name.access.param)) {
        return NULL;
    }
    if (strcmp(kind, "ld") == 0 && name.operation[0] == '\0') {
        return strong ? do_strong_load : do_load;
    }
    if (strcmp(kind, "st") == 0 && name.operation[0] == '\0' && !name.access.param) {
        return strong ? do_strong_store : do_store;
    }
    if (strcmp(kind, "atom") == 0 && strcmp(name.operation, "inc") == 0 && name.access.bytes == 4) {
        return do_atomic_inc;
    }
    if (strcmp(kind, "atom") == 0 && strcmp(name.operation, "add") == 0 && name.access.bytes == 8) {
        return do_atomic_add;
    }
    return NULL;
}
