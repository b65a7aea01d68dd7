/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli; RFC 3720): what guards bytes on disk. */
#ifndef SLUICE_CRC32C_INT_H
#define SLUICE_CRC32C_INT_H

#include <stddef.h>
#include <stdint.h>

/*
 * The checksum of what `crc` is the checksum of with these bytes behind it; 0 is that of nothing.
 * The same on every machine.
 */
uint32_t sli_crc32c(uint32_t crc, const void *bytes, size_t size);

#endif
