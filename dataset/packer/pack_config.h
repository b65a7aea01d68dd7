/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the settings of a pack. */
#ifndef SLUICE_PACK_CONFIG_H
#define SLUICE_PACK_CONFIG_H

#include <sluice/pack.h>

#include "sample_writer.h"

/*
 * Reads and checks the settings. E_INVALID: a setting is invalid, or a column in config->drop
 * cannot be left out; E_UNSUPPORTED: a column cannot be packed, or this build cannot pack.
 */
sluice_status pack_read_config(const sluice_pack_config *config, sluice_pack_config *copy_out);

/* Finds the columns of the pack, and the format that they are written in. */
sluice_status pack_columns(const sluice_pack_config *config, kept_columns *kept_out);
const sample_writer *pack_writer(const sluice_pack_config *config);

/* Distance in pixels between restart markers, approximately; 0: none. */
uint32_t pack_interval(const sluice_pack_config *config);

#endif
