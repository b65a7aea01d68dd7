/* SPDX-License-Identifier: Apache-2.0 */
#include "advice_rules.h"

#include <stdarg.h>

#include "format_int.h"

void advice_say(report_advice *advice, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    sli_print_args(advice->text, sizeof(advice->text), format, args);
    va_end(args);
}

void advice_set_rate(report_advice *advice, double rate, advice_range range)
{
    advice->rate_low = rate * range.low;
    advice->rate_high = rate * range.high;
}

advice_range advice_range_of(const verdict_facts *facts, const verdict_cost *cost,
                             const advice_ranges *ranges)
{
    return advice_is_loud(facts, cost) ? ranges->loud : ranges->calm;
}

bool advice_is_loud(const verdict_facts *facts, const verdict_cost *cost)
{
    return verdict_waiting(cost) > ADVICE_LOUD_SHARE ||
           (cost->runqueue <= 0 && facts->machine.has_pressure &&
            facts->machine.cpu_pressure > ADVICE_LOUD_SHARE);
}
