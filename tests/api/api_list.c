/* SPDX-License-Identifier: Apache-2.0 */
/* The suites of sluice_api, which links the shared library and sees the public headers alone. */
#include "testing.h"

extern const t_test public_api_tests[];
extern const t_test public_custom_tests[];
extern const t_test public_dataset_tests[];
extern const t_test careful_run_tests[];
extern const t_test llmc_api_tests[];
extern const t_test pack_api_tests[];
extern const t_test abi_tests[];
extern const t_test struct_sizes_tests[];

const t_suite t_suites[] = {{"public_api", public_api_tests},
                            {"public_custom", public_custom_tests},
                            {"public_dataset", public_dataset_tests},
                            {"careful_run", careful_run_tests},
                            {"llmc_api", llmc_api_tests},
                            {"pack_api", pack_api_tests},
                            {"abi", abi_tests},
                            {"struct_sizes", struct_sizes_tests},
                            {NULL, NULL}};
