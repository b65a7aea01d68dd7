/* SPDX-License-Identifier: Apache-2.0 */
#include "channel_watch.h"

#include "report_file.h"
#include "report_request.h"

/* Writes the report so far to stderr. */
static void write_report(sluice_channel *channel)
{
    const sli_run_settings *settings = &channel->data.config.settings;
    sluice_report *report = NULL;
    const sluice_status st = sluice_channel_report(channel, &report);

    report_file_write("-", settings->rank, settings->world, st == SLUICE_OK ? report : NULL);
    sluice_report_destroy(report);
}

void channel_watch_begin(sluice_channel *channel)
{
    channel->watch.requests = report_requests();
}

bool channel_watch_poll(sluice_channel *channel)
{
    const uint64_t requests = report_requests();

    if (requests == channel->watch.requests) {
        return false;
    }
    channel->watch.requests = requests;
    write_report(channel);
    return true;
}
