/* SPDX-License-Identifier: Apache-2.0 */
#include "llmc_order.h"

#include <pthread.h>
#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

/* A turn is one shard in one pass; turns are numbered consecutively through all passes. */
enum { TURNS = 4096, LISTS_ROOM = 1 << 16, PIECES_ROOM = 1 << 20 };

static const uint64_t NONE = UINT64_MAX;

typedef struct llmc_order {
    source_order base;
    uint32_t shard_count;
    llmc_shard *shards;
    uint64_t *ends; /* (shard_count) number of pieces in the shards [0, i] */
    uint32_t batch;
    uint32_t rank;
    uint32_t world;
    bool shuffled;
    sli_mt19937 first;      /* state of the generator before the first turn */
    uint32_t begin_slot;    /* number of the first turn */
    uint32_t *begin_shards; /* (shard_count) order of the shards before the first turn */
    uint32_t *begin_pieces; /* order of pieces in the first turn, set by the caller; NULL: drawn
                               like the others */

    pthread_mutex_t lock;  /* guards the fields below */
    sli_mt19937 generator; /* after the draws of all turns below `next` */
    uint64_t oldest;       /* the pieces of turns [oldest, next) are in `room` */
    uint64_t next;         /* the next turn to be drawn */
    uint32_t *list;        /* (shard_count) order of the shards in the latest pass that was begun */
    uint64_t room_at;      /* number of elements of `room` allocated so far, without wrap-around */
    uint64_t room_size;
    uint32_t *room;        /* (room_size) a ring with the pieces of turns, those of a turn
                              contiguous */
    uint64_t turns[TURNS]; /* room_at of each turn's pieces, indexed by turn modulo TURNS */
    uint32_t pass_count;   /* capacity of `passes` and `lists` */
    uint64_t *passes;      /* (pass_count) pass whose list is stored, indexed by pass modulo
                              pass_count; NONE: empty */
    uint32_t *lists;     /* (pass_count, shard_count) order of the shards in each of these passes */
    uint64_t *list_ends; /* (pass_count, shard_count) number of pieces up to and including each
                            shard of a list */
} llmc_order;

/* ---- turns: under the lock ---------------------------------------------------------------------
 */

static size_t list_at(const llmc_order *order, uint64_t pass)
{
    return (size_t)(pass % order->pass_count) * order->shard_count;
}

/* Sums up the pieces of the shards in the order of `list`; NULL: in their own order. */
static void add_up(const llmc_order *order, const uint32_t *list, uint64_t *ends)
{
    uint64_t sum = 0;

    for (uint32_t slot = 0; slot < order->shard_count; slot++) {
        sum += order->shards[list != NULL ? list[slot] : slot].pieces;
        ends[slot] = sum;
    }
}

/* Stores the list of shards of a pass. */
static void keep_list(llmc_order *order, uint64_t pass)
{
    const size_t at = list_at(order, pass);

    order->passes[pass % order->pass_count] = pass;
    memcpy(order->lists + at, order->list, order->shard_count * sizeof(*order->list));
    add_up(order, order->list, order->list_ends + at);
}

static uint32_t *pieces_of(const llmc_order *order, uint64_t turn)
{
    return order->room + order->turns[turn % TURNS] % order->room_size;
}

/* Allocates room for the pieces of turn `next`; the oldest turns are discarded. */
static uint32_t *take_room(llmc_order *order, uint32_t count)
{
    const uint64_t left = order->room_size - order->room_at % order->room_size;
    const uint64_t at = order->room_at + (left < count ? left : 0);

    order->room_at = at + count;
    while (order->oldest < order->next &&
           (order->next - order->oldest >= TURNS ||
            order->room_at - order->turns[order->oldest % TURNS] > order->room_size)) {
        order->oldest++;
    }
    order->turns[order->next % TURNS] = at;
    return pieces_of(order, order->next);
}

static void begin_again(llmc_order *order)
{
    order->generator = order->first;
    order->next = order->begin_slot;
    order->oldest = order->next;
    order->room_at = 0;
    memcpy(order->list, order->begin_shards, order->shard_count * sizeof(*order->list));
    for (uint32_t i = 0; i < order->pass_count; i++) {
        order->passes[i] = NONE;
    }
}

/* Draws the pieces of turn `next`, and before the first turn of a pass the order of its shards. */
static void make_turn(llmc_order *order)
{
    const uint64_t pass = order->next / order->shard_count;
    const uint32_t slot = (uint32_t)(order->next % order->shard_count);
    const bool is_given = order->begin_pieces != NULL && order->next == order->begin_slot;
    uint32_t count;
    uint32_t *pieces;

    if (slot == 0 && !is_given) {
        sli_mt19937_permute(&order->generator, order->list, order->shard_count);
    }
    if (slot == 0 || is_given) {
        keep_list(order, pass);
    }
    count = order->shards[order->list[slot]].pieces;
    pieces = take_room(order, count);
    if (is_given) {
        memcpy(pieces, order->begin_pieces, count * sizeof(*pieces));
    } else {
        for (uint32_t i = 0; i < count; i++) {
            pieces[i] = i;
        }
        sli_mt19937_permute(&order->generator, pieces, count);
    }
    order->next++;
}

/* Makes sure that the list of shards of a pass is stored. */
static void make_pass(llmc_order *order, uint64_t pass)
{
    const uint64_t *kept = &order->passes[pass % order->pass_count];

    if (*kept != pass && pass * order->shard_count < order->next) {
        begin_again(order);
    }
    while (*kept != pass) {
        make_turn(order);
    }
}

static const uint32_t *pieces_of_turn(llmc_order *order, uint64_t turn)
{
    if (turn < order->oldest) {
        begin_again(order);
    }
    while (turn >= order->next) {
        make_turn(order);
    }
    return pieces_of(order, turn);
}

/* ---- the order ---------------------------------------------------------------------------------
 */

/*
 * The slot of a piece of a pass, by binary search: the first one with ends[slot] > *piece. *piece
 * becomes the number of the piece within that slot.
 */
static uint32_t find_slot(const llmc_order *order, const uint64_t *ends, uint64_t *piece)
{
    uint32_t low = 0;
    uint32_t high = order->shard_count - 1;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;

        if (ends[middle] > *piece) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    *piece -= low > 0 ? ends[low - 1] : 0;
    return low;
}

static uint64_t sample_of(const llmc_order *order, uint32_t shard, uint64_t piece, uint64_t row)
{
    return order->shards[shard].first + piece * order->world * order->batch + row;
}

static uint64_t order_at_position(source_order *base, uint64_t pass, uint64_t position)
{
    llmc_order *order = (llmc_order *)base;
    const uint64_t row = (uint64_t)order->rank * order->batch + position % order->batch;
    uint64_t piece = position / order->batch;
    uint32_t shard;
    uint32_t slot;

    if (!order->shuffled) {
        shard = find_slot(order, order->ends, &piece);
        return sample_of(order, shard, piece, row);
    }
    pthread_mutex_lock(&order->lock);
    make_pass(order, pass);
    slot = find_slot(order, order->list_ends + list_at(order, pass), &piece);
    piece = pieces_of_turn(order, pass * order->shard_count + slot)[piece];
    shard = order->lists[list_at(order, pass) + slot];
    pthread_mutex_unlock(&order->lock);
    return sample_of(order, shard, piece, row);
}

static uint64_t order_of_all(const source_order *base, uint64_t number)
{
    const llmc_order *order = (const llmc_order *)base;
    const uint64_t rows = (uint64_t)order->batch * order->world;
    uint64_t piece = number / rows;
    const uint32_t shard = find_slot(order, order->ends, &piece);

    return sample_of(order, shard, piece, number % rows);
}

static void order_close(source_order *base)
{
    llmc_order *order = (llmc_order *)base;

    pthread_mutex_destroy(&order->lock);
    sli_free(order->shards);
    sli_free(order->ends);
    sli_free(order->begin_shards);
    sli_free(order->begin_pieces);
    sli_free(order->list);
    sli_free(order->room);
    sli_free(order->passes);
    sli_free(order->lists);
    sli_free(order->list_ends);
    sli_free(order);
}

/* ---- making ------------------------------------------------------------------------------------
 */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void *copy_of(const void *from, size_t bytes)
{
    void *copy = sli_calloc(1, bytes);

    return copy != NULL ? memcpy(copy, from, bytes) : NULL;
}

/* Allocates all memory that a shuffled order will ever need, so that drawing turns cannot fail. */
static bool make_room(llmc_order *order, const llmc_request *request)
{
    const uint32_t count = order->shard_count;
    uint64_t largest = 0;

    for (uint32_t i = 0; i < count; i++) {
        largest = order->shards[i].pieces > largest ? order->shards[i].pieces : largest;
    }
    order->room_size = 3 * largest + least(PIECES_ROOM, TURNS * largest);
    order->pass_count = (uint32_t)least(TURNS, LISTS_ROOM / count + 2);
    order->room = sli_calloc(order->room_size, sizeof(*order->room));
    order->passes = sli_calloc(order->pass_count, sizeof(*order->passes));
    order->lists = sli_calloc((size_t)order->pass_count * count, sizeof(*order->lists));
    order->list_ends = sli_calloc((size_t)order->pass_count * count, sizeof(*order->list_ends));
    order->list = sli_calloc(count, sizeof(*order->list));
    order->begin_shards = sli_calloc(count, sizeof(*order->list));
    order->base.memory +=
        order->room_size * sizeof(*order->room) +
        (uint64_t)order->pass_count * count * (sizeof(*order->lists) + sizeof(*order->list_ends));
    if (order->room == NULL || order->passes == NULL || order->lists == NULL ||
        order->list_ends == NULL || order->list == NULL || order->begin_shards == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        order->begin_shards[i] = i;
    }
    sli_mt19937_seed(&order->first, 42 + order->rank);
    if (request->begin != NULL) {
        const sli_llmc_begin *begin = request->begin;

        order->first = begin->generator;
        order->begin_slot = begin->slot;
        memcpy(order->begin_shards, begin->shards, count * sizeof(*order->list));
        order->begin_pieces =
            copy_of(begin->pieces,
                    order->shards[begin->shards[begin->slot]].pieces * sizeof(*begin->pieces));
    }
    begin_again(order);
    return request->begin == NULL || order->begin_pieces != NULL;
}

sluice_status llmc_order_make(const llmc_request *request, source_order **order_out)
{
    llmc_order *order = sli_calloc(1, sizeof(*order));
    bool made;

    if (order == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an order of tokens");
    }
    order->base = (source_order){.at = order_at_position,
                                 .of_all = order_of_all,
                                 .close = order_close,
                                 .memory = sizeof(*order)};
    pthread_mutex_init(&order->lock, NULL);
    order->shard_count = request->shard_count;
    order->batch = request->batch;
    order->rank = request->rank;
    order->world = request->world;
    order->shuffled = request->shuffled;
    order->shards = copy_of(request->shards, request->shard_count * sizeof(*order->shards));
    order->ends = sli_calloc(request->shard_count, sizeof(*order->ends));
    made = order->shards != NULL && order->ends != NULL &&
           (!order->shuffled || make_room(order, request));
    if (!made) {
        order_close(&order->base);
        return sli_fail(SLUICE_E_NO_MEMORY, "an order of tokens");
    }
    add_up(order, NULL, order->ends);
    order->base.length = order->ends[order->shard_count - 1] * order->batch;
    *order_out = &order->base;
    return SLUICE_OK;
}
