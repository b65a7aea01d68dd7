/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C (Castagnoli; RFC 3720), the checksum of files on disk. */
#ifndef SLUICE_CRC32C_INT_H
#define SLUICE_CRC32C_INT_H

#include <stddef.h>
#include <stdint.h>

/* Updates the checksum `crc` with bytes; start with 0. The same on every machine. */
uint32_t sli_crc32c(uint32_t crc, const void *bytes, size_t size);

#endif
