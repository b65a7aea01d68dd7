/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments that may differ when a run is resumed, as its user agrees to: STAGE.ARGUMENT, separated
 * by commas, such as "letterbox.size,image_list.fields". They are for each stage of that name.
 */
#ifndef SLUICE_STAGES_ALLOWED_INT_H
#define SLUICE_STAGES_ALLOWED_INT_H

#include <stdbool.h>

#include <sluice/status.h>

/*
 * Checks that each name is an argument of a stage in one of the texts of an identity
 * (sli_dataset_identity), which does not decide which samples a pass has: the position would be
 * among other samples. E_INVALID: it is not. Also returns E_NO_MEMORY.
 */
sluice_status sli_stages_check_allowed(const char *allowed, const char *stages, const char *source);

/* True if the names have this argument. */
bool sli_stages_is_allowed(const char *allowed, const char *stage, const char *argument);

/* Does as sli_stages_compare(); arguments in `allowed` may differ, which is logged. NULL: none. */
sluice_status sli_stages_compare_allowing(const char *kept, const char *mine, const char *allowed);

/*
 * Writes the stages of a run that continues from a state before decode orient= with other arguments
 * as such a state has them, without orient=true; the caller frees the text by
 * sluice_string_free(). Returns E_NO_MEMORY.
 */
sluice_status sli_stages_as_stored(const char *stages, char **text_out);

#endif
