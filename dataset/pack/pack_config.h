/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the settings of a pack. */
#ifndef SLUICE_PACK_CONFIG_H
#define SLUICE_PACK_CONFIG_H

#include <sluice/pack.h>

/*
 * Reads and checks the settings. E_INVALID: a setting is invalid; E_UNSUPPORTED: this build cannot
 * pack.
 */
sluice_status pack_read_config(const sluice_pack_config *config, sluice_pack_config *copy_out);

#endif
