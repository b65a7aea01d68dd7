/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a channel's data in a saved position: a state of a run as text (train_state.h),
 * of which only the fields that identify data, pipeline and device maps are used. Long texts of
 * stages and maps are shortened to a beginning and a hash, so that the identity has a fixed size.
 * Stages are shortened from their canonical text (sli_stages_canonical()), so that pipelines that
 * give the same results have the same identity.
 */
#ifndef SLUICE_CHANNEL_IDENTITY_H
#define SLUICE_CHANNEL_IDENTITY_H

#include <sluice/channel.h>

#include "device_maps.h"
#include "plan_int.h"

/* Writes the identity of the plan and the maps into own->identity. Returns E_NO_MEMORY. */
sluice_status channel_identity_make(const sli_plan *plan, const device_maps *maps,
                                    sluice_channel_position *own);

/*
 * Checks that a channel of this plan and these maps, whose position is `own`, may begin at `from`.
 * A position without an identity is accepted; rank 0 logs a warning. The arguments in `allow` may
 * differ. If `from` is of a version that did not apply the Exif orientation, only images without
 * one have the same pixels now: `own` then gets the stages of `from`, and the run fails at the
 * first image with an orientation. Returns E_INVALID if the identities differ, E_CORRUPT if that
 * of `from` is corrupt, E_UNSUPPORTED, E_NO_MEMORY.
 */
sluice_status channel_identity_check(const sluice_channel_position *from,
                                     sluice_channel_position *own, const device_maps *maps,
                                     const char *allow, sli_plan *plan);

/* Checks the names in `allow` (train_state_allow()). */
sluice_status channel_identity_check_allow(const sli_plan *plan, const char *allow);

#endif
