/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The C interface for C++17: objects that free what they own, statuses that must not be ignored,
 * and callables where C takes a function and a pointer. Header-only; it throws nothing, and needs
 * neither exceptions nor RTTI.
 *
 * It adds no function of its own. An object gives its handle to any C call by get(), and takes the
 * handle that a C call makes by out():
 *
 *     sluice::dataset dataset;
 *     sluice::status st = dataset.parse("synthetic 1000 32,32,3 10");
 *     if (st) {
 *         st = dataset.add("batch {}", 32);
 *     }
 *
 * Objects move and do not copy. One that was moved from is empty: get() is NULL. Statuses, errors
 * and threads are those of the C calls.
 */
#ifndef SLUICE_HPP
#define SLUICE_HPP

#include <sluice/channel.hpp>
#include <sluice/custom.hpp>
#include <sluice/dataset.hpp>
#include <sluice/objects.hpp>
#include <sluice/owner.hpp>
#include <sluice/train.hpp>

#endif
