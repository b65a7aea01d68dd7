/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_notes.h"

#include "log_int.h"
#include "status_int.h"

/* The stage that messages name. */
typedef enum collected_stage { BY_FILTERS, BY_PACK, BY_BUCKET, BY_STREAM } collected_stage;

static collected_stage stage_of(const sli_plan *plan)
{
    return plan->details->pack.seq > 0          ? BY_PACK
           : plan->details->bucket.count > 0    ? BY_BUCKET
           : plan->details->dealing.has_choices ? BY_FILTERS
                                                : BY_STREAM;
}

static sluice_status fail_fewer(const sli_plan *plan, uint64_t turns, uint64_t done)
{
    switch (stage_of(plan)) {
    case BY_PACK:
        return sli_fail(SLUICE_E_INVALID,
                        "pack: it makes %llu windows of a pass of which %llu were done before; "
                        "resume with the same data",
                        (unsigned long long)turns, (unsigned long long)done);
    case BY_BUCKET:
        return sli_fail(SLUICE_E_INVALID,
                        "bucket: it makes batches of %llu samples of a pass of which %llu were "
                        "done before; resume with the same data",
                        (unsigned long long)turns, (unsigned long long)done);
    case BY_STREAM:
        return sli_fail(
            SLUICE_E_INVALID,
            "the run resumes after sample %llu of a pass, but the stream ends after %llu "
            "samples: the data are not those of the run; resume with the same data",
            (unsigned long long)done, (unsigned long long)turns);
    case BY_FILTERS:
        break;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "filter: it keeps %llu samples of a pass of which %llu were done before: it "
                    "must choose as it did; resume with the same filter and data",
                    (unsigned long long)turns, (unsigned long long)done);
}

static sluice_status fail_empty(const sli_plan *plan, uint64_t samples, uint64_t turns)
{
    const char *advice = turns > 0 ? "; drop_remainder=false keeps what is left" : "";

    switch (stage_of(plan)) {
    case BY_PACK:
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: pack makes %llu windows of the %llu samples "
                        "of a pass, and no batch of %u of them%s",
                        (unsigned long long)turns, (unsigned long long)samples, plan->batch_size,
                        advice);
    case BY_BUCKET:
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: of the %llu samples of a pass no bucket "
                        "gets a batch of %u%s; drop_remainder=false keeps what is left",
                        (unsigned long long)samples, plan->batch_size,
                        plan->settings.world > 1 ? " for each rank" : "");
    case BY_STREAM:
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: a pass of the stream has %llu samples and "
                        "no batch of %u%s",
                        (unsigned long long)samples, plan->batch_size, advice);
    case BY_FILTERS:
        break;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "no valid data in the dataset: filters keep %llu of the %llu samples of a "
                    "pass, and make no batch of %u of them%s",
                    (unsigned long long)turns, (unsigned long long)samples, plan->batch_size,
                    advice);
}

sluice_status collected_check_pass(const sli_plan *plan, const collected_pass_result *pass)
{
    if (pass->turns < pass->done && !plan->details->dealing.lengths.counts) {
        return fail_fewer(plan, pass->turns, pass->done);
    }
    return plan_pass_is_empty(plan, pass->turns, pass->done)
               ? fail_empty(plan, pass->candidates, pass->turns)
               : SLUICE_OK;
}

void collected_note_repeat(const sli_plan *plan, uint64_t done)
{
    const collected_stage stage = stage_of(plan);

    if (stage == BY_STREAM) {
        sli_log(SLUICE_LOG_INFO, "the stream is read from its beginning: %llu samples are skipped",
                (unsigned long long)done);
        return;
    }
    if (plan->details->dealing.lengths.counts) {
        sli_log(SLUICE_LOG_INFO,
                "%s: the length of a pass is unknown, so samples are read from the first one on: "
                "the run begins after %llu %s",
                stage == BY_PACK     ? "pack"
                : stage == BY_BUCKET ? "bucket"
                                     : "filters",
                (unsigned long long)done, stage == BY_PACK ? "windows" : "samples that are kept");
        return;
    }
    sli_log(SLUICE_LOG_INFO,
            stage == BY_PACK ? "pack: documents are read again from the beginning of the pass: "
                               "%llu windows were done"
            : stage == BY_BUCKET
                ? "bucket: lengths are read again from the beginning of the pass: batches of %llu "
                  "samples were done"
                : "filters are called again from the beginning of the pass: %llu samples that they "
                  "keep were done",
            (unsigned long long)done);
}
