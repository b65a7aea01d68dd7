/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * All of the library's public headers.
 *
 * A pointer may be NULL where the comment of the function says so. Any other one that is NULL is
 * E_INVALID. Functions without a status then return 0 or NULL (sluice_sample_stop_fd(): -1), or do
 * nothing. Functions that return a string never return NULL: they return "" for a NULL object
 * and "?" for an unknown value of an enum.
 */
#ifndef SLUICE_H
#define SLUICE_H

#include <sluice/arrays.h>
#include <sluice/channel.h>
#include <sluice/column_spec.h>
#include <sluice/custom.h>
#include <sluice/dataset.h>
#include <sluice/device.h>
#include <sluice/dlpack.h>
#include <sluice/llmc.h>
#include <sluice/log.h>
#include <sluice/model.h>
#include <sluice/pack.h>
#include <sluice/plugin.h>
#include <sluice/ranks.h>
#include <sluice/reader.h>
#include <sluice/report.h>
#include <sluice/sampling.h>
#include <sluice/status.h>
#include <sluice/stop.h>
#include <sluice/tensor.h>
#include <sluice/topology.h>
#include <sluice/train.h>
#include <sluice/version.h>

#endif
