// SPDX-License-Identifier: Apache-2.0
// What the programs of tests/test_cpp.sh have in common: a line for each check that fails, and
// their number.
#ifndef SLUICE_TESTS_API_CPP_CHECKS_HPP
#define SLUICE_TESTS_API_CPP_CHECKS_HPP

#include <cstdio>
#include <cstring>

#include <sluice/sluice.hpp>

namespace
{

int failures = 0;

void check(bool condition, const char *what, int line)
{
    if (!condition) {
        std::printf("line %d: %s; last error: %s\n", line, what, sluice::last_error());
        failures++;
    }
}

#define CHECK(condition) check((condition), #condition, __LINE__)
#define CHECK_OK(call)   check(static_cast<bool>(sluice::status(call)), #call, __LINE__)

bool contains(const char *text, const char *part)
{
    return std::strstr(text, part) != nullptr;
}

// Returns the exit status of the program.
int report_failures()
{
    std::printf("%d checks failed\n", failures);
    return failures == 0 ? 0 : 1;
}

} // namespace

#endif
