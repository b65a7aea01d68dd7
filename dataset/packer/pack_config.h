/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the settings of a pack. */
#ifndef SLUICE_PACK_CONFIG_H
#define SLUICE_PACK_CONFIG_H

#include <sluice/pack.h>

/*
 * Reads and checks the settings. E_INVALID: a setting is invalid, or the pack would lack columns
 * that config->drop does not name; E_UNSUPPORTED: this build cannot pack.
 */
sluice_status pack_read_config(const sluice_pack_config *config, sluice_pack_config *copy_out);

/* Distance in pixels between restart markers, approximately; 0: none. */
uint32_t pack_interval(const sluice_pack_config *config);

/* The column of labels; -1: the dataset has none, or config->drop names it. */
int pack_label_column(const sluice_pack_config *config);

#endif
