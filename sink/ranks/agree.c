/* SPDX-License-Identifier: Apache-2.0 */
#include "agree.h"

#include <math.h>
#include <string.h>

#include "callback_int.h"
#include "clock_int.h"
#include "last_call.h"
#include "log_int.h"
#include "peer_states.h"
#include "rank_board_int.h"
#include "status_int.h"
#include "text_int.h"

bool agree_asks(const rank_group *ranks)
{
    return (ranks->own.world > 1 || ranks->has_others) && ranks->agree != NULL && !ranks->parted;
}

/* Runs on the thread of the callback watchdog. `detail`: the address of the rank_group. */
static void warn_of_agree(uint64_t detail, double seconds)
{
    const rank_group *ranks = (const rank_group *)(uintptr_t)detail;
    const uint64_t step = atomic_load_explicit(&ranks->told_step, memory_order_relaxed);
    sli_text who = {0};
    uint32_t rank;
    uint32_t lasts;
    uint32_t meetings;

    peer_states_describe_late(ranks->own.rank, &who);
    if (rank_waits_noted(&ranks->waits, &rank, &lasts, &meetings)) {
        sli_text_add(
            &who,
            "; so far this rank has waited longest for rank %u, which came last %u of %u times",
            rank, lasts, meetings);
    }
    sli_log(SLUICE_LOG_WARN,
            "agree has not returned for %.1f s (after %llu steps): another rank is late, or gone%s",
            seconds, (unsigned long long)step, who.failed || who.data == NULL ? "" : who.data);
    sli_text_free(&who);
}

static void enter_agree(rank_group *ranks)
{
    atomic_store_explicit(&ranks->told_step, *ranks->step, memory_order_relaxed);
    if (ranks->on_board) {
        sli_rank_board_count(*ranks->step);
    }
    watchdog_enter(&ranks->watch->callbacks, warn_of_agree, (uint64_t)(uintptr_t)ranks);
}

/* Calls the user's agree callback. Its duration does not count as a stall. */
static sluice_status call_agree(rank_group *ranks, int64_t value, int64_t *most_out)
{
    const uint64_t failures = sli_fail_count();
    const host_work before = host_clock_enter(&ranks->watch->host, HOST_AGREE);
    const int64_t begin_ns = sli_now_ns();
    sluice_status st;

    enter_agree(ranks);
    st = ranks->agree(value, most_out, ranks->agree_user);
    watchdog_leave(&ranks->watch->callbacks);
    host_clock_leave(&ranks->watch->host, before);
    rank_waits_add_round(&ranks->waits, begin_ns, sli_now_ns());
    polled_time_restart(&ranks->watch->still);
    st = sli_callback_status(st, failures, "rank %u of %u, after step %llu: agree", ranks->own.rank,
                             ranks->own.world, (unsigned long long)*ranks->step);
    if (st < 0) {
        ranks->parted = true;
        return st;
    }
    if (*most_out < value) {
        ranks->parted = true;
        return sli_fail(
            SLUICE_E_CALLBACK,
            "agree returned %lld, and must return the largest of all values, at least %lld",
            (long long)*most_out, (long long)value);
    }
    return SLUICE_OK;
}

/* call_agree() for rank_failure_exchange(). */
static sluice_status next_round(int64_t value, int64_t *most_out, void *user)
{
    return call_agree(user, value, most_out);
}

/* Receives the text of another rank's failure, and returns E_RANK. `most`: value of the failure. */
static sluice_status hear_failure(rank_group *ranks, int64_t most)
{
    rank_failure first;
    const sluice_status st = rank_failure_exchange(most, NULL, next_round, ranks, &first);

    ranks->parted = true;
    ranks->failure_is_known = true;
    return sli_fail(SLUICE_E_RANK, "rank %u failed with %s, so rank %u ends after step %llu: %s%s",
                    first.rank, sluice_status_name(first.status), ranks->own.rank,
                    (unsigned long long)*ranks->step,
                    first.text[0] != '\0' ? first.text : "see there", st < 0 ? "..." : "");
}

sluice_status agree_most(rank_group *ranks, int64_t value, int64_t *most_out)
{
    sluice_status st;

    *most_out = value;
    if (!agree_asks(ranks)) {
        return SLUICE_OK;
    }
    st = call_agree(ranks, value, most_out);
    return st == SLUICE_OK && *most_out >= FAILURE_LEAST ? hear_failure(ranks, *most_out) : st;
}

sluice_status agree_meet(rank_group *ranks, uint32_t level, uint32_t *level_out)
{
    int64_t most;
    sluice_status st;

    *level_out = level;
    if (!agree_asks(ranks)) {
        return SLUICE_OK;
    }
    st = agree_most(ranks, rank_waits_send(&ranks->waits, level, sli_now_ns()), &most);
    if (st == SLUICE_OK && !rank_waits_receive(&ranks->waits, most, level_out)) {
        ranks->parted = true;
        return sli_fail(SLUICE_E_CALLBACK,
                        "agree returned %lld, which no rank has sent: the ranks do not call it "
                        "equally often",
                        (long long)most);
    }
    return st;
}

sluice_status agree_barrier(rank_group *ranks)
{
    uint32_t level;

    return agree_meet(ranks, 0, &level);
}

/* Appends the other ranks: "ranks 0, 2", or only their number if there are more than 8. */
static void name_others(const sluice_ranks *own, sli_text *text)
{
    const char *between = "";

    if (own->world > 9) {
        sli_text_add(text, "the other %u ranks", own->world - 1);
        return;
    }
    sli_text_add(text, own->world > 2 ? "ranks " : "rank ");
    for (uint32_t rank = 0; rank < own->world; rank++) {
        if (rank != own->rank) {
            sli_text_add(text, "%s%u", between, rank);
            between = ", ";
        }
    }
}

/* Logs that not all of the other ranks have called agree. Which have is known only of those on this
 * machine: a max-allreduce returns only after all have called it. */
static void warn_of_silence(const rank_group *ranks, const rank_failure *own)
{
    sli_text others = {0};

    if (!ranks->on_board || !peer_states_list_late(&ranks->own, &others)) {
        name_others(&ranks->own, &others);
    }
    sli_log(SLUICE_LOG_WARN,
            "no answer within %.1f s of the failure of rank %u from %s: they wait in a collective "
            "of their step, or are gone. This rank ends alone; config.abort can end all of them. "
            "The failure is %s: %s",
            (double)ranks->timeout_ms / 1e3, ranks->own.rank,
            others.failed || others.data == NULL ? "the other ranks" : others.data,
            sluice_status_name(own->status), own->text);
    sli_text_free(&others);
}

void agree_part(rank_group *ranks, const sli_error *error)
{
    if (agree_asks(ranks) && error->status < 0) {
        const host_work before = host_clock_enter(&ranks->watch->host, HOST_AGREE);
        rank_failure own;
        bool heard;

        rank_failure_set(ranks->own.rank, error, &own);
        if (ranks->on_board) {
            sli_rank_board_fail();
        }
        enter_agree(ranks);
        heard = last_call_make(&own, ranks->agree, ranks->agree_user, ranks->timeout_ms);
        watchdog_leave(&ranks->watch->callbacks);
        host_clock_leave(&ranks->watch->host, before);
        if (!heard) {
            warn_of_silence(ranks, &own);
        }
    }
    ranks->parted = true;
}

/* ---- opening a run --------------------------------------------------------------------------- */

sluice_status agree_on_members(rank_group *ranks)
{
    for (uint32_t rank = 0; rank < ranks->own.world; rank++) {
        int64_t most;
        sluice_status st = agree_most(ranks, ranks->own.rank == rank, &most);

        if (st == SLUICE_OK && most == 0) {
            st = sli_fail(SLUICE_E_INVALID, "no process is rank %u of %u, so two have the same one",
                          rank, ranks->own.world);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    return SLUICE_OK;
}

/* Finds the minimum and the maximum of a value over all ranks. */
static sluice_status find_range(rank_group *ranks, uint64_t value, uint64_t *least_out,
                                uint64_t *most_out)
{
    const uint64_t largest = UINT64_C(1) << 62;
    const int64_t own = (int64_t)(value < largest ? value : largest);
    int64_t most;
    int64_t least;
    sluice_status st = agree_most(ranks, own, &most);

    if (st == SLUICE_OK) {
        st = agree_most(ranks, -own, &least);
    }
    if (st == SLUICE_OK) {
        *least_out = (uint64_t)-least;
        *most_out = (uint64_t)most;
    }
    return st;
}

sluice_status agree_alone(rank_group *ranks, uint64_t nonce, bool *alone_out)
{
    uint64_t least;
    uint64_t most;
    sluice_status st;

    ranks->has_others = true; /* so that agree_most() calls agree */
    st = find_range(ranks, nonce >> 2, &least, &most);
    *alone_out = st == SLUICE_OK && least == most;
    ranks->has_others = st == SLUICE_OK && !*alone_out;
    return st;
}

static sluice_status agree_on(rank_group *ranks, const agree_subject *subject)
{
    const uint64_t value = subject->is_hash ? subject->value >> 2 : subject->value;
    uint64_t least;
    uint64_t most;
    sluice_status st = find_range(ranks, value, &least, &most);

    if (st != SLUICE_OK || least == most) {
        return st;
    }
    if (subject->is_hash) {
        return sli_fail(SLUICE_E_INVALID, "the ranks do not have the same %s", subject->what);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the ranks differ in their %s: %llu on rank %u, from %llu to %llu on all",
                    subject->what, (unsigned long long)subject->value, ranks->own.rank,
                    (unsigned long long)least, (unsigned long long)most);
}

sluice_status agree_on_all(rank_group *ranks, const agree_subject *subjects, size_t count)
{
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; st == SLUICE_OK && i < count; i++) {
        st = agree_on(ranks, &subjects[i]);
    }
    return st;
}

sluice_status agree_on_step(rank_group *ranks, uint64_t step, bool early)
{
    const agree_subject kind = {"kind of checkpoint, step- (0) or early- (1)", early, false};
    uint64_t least;
    uint64_t most;
    sluice_status st = find_range(ranks, step + 1, &least, &most);

    if (st == SLUICE_OK && least == most) {
        return agree_on(ranks, &kind);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the ranks do not see the same checkpoints: the newest is of step %lld on rank "
                    "%u, of step %lld on another (-1: none); the folder must be one that all share",
                    (long long)step, ranks->own.rank,
                    (long long)(step + 1 == most ? least - 1 : most - 1));
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The bits of a double, as a value for agree. Every NaN maps to the same positive value below
 * FAILURE_LEAST. */
static int64_t bits_of(double number)
{
    int64_t bits;

    if (isnan(number)) {
        return INT64_C(0x7FF8000000000000);
    }
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

/* Broadcasts the number of `rank`: the other ranks pass INT64_MIN, so the maximum is that number.
 */
static sluice_status broadcast_number(rank_group *ranks, uint32_t rank, double own,
                                      double *number_out)
{
    int64_t bits;
    sluice_status st = agree_most(ranks, rank == ranks->own.rank ? bits_of(own) : INT64_MIN, &bits);

    if (st == SLUICE_OK) {
        memcpy(number_out, &bits, sizeof(*number_out));
    }
    return st;
}

sluice_status agree_on_sums(rank_group *ranks, double *sums, uint32_t count)
{
    for (uint32_t i = 0; i < count && agree_asks(ranks); i++) {
        const double own = sums[i];
        double sum = 0;

        for (uint32_t rank = 0; rank < ranks->own.world; rank++) {
            double number;
            sluice_status st = broadcast_number(ranks, rank, own, &number);

            if (st != SLUICE_OK) {
                return st;
            }
            sum += number;
        }
        sums[i] = sum;
    }
    return SLUICE_OK;
}
