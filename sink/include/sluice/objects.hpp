/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Callbacks, cancellation tokens, devices and reports as C++ objects. Included by sluice.hpp.
 */
#ifndef SLUICE_OBJECTS_HPP
#define SLUICE_OBJECTS_HPP

#include <sluice/owner.hpp>

namespace sluice
{

/** A ready-made callback: sluice_loss_monitor(stdout, 100, monitor.out()). */
using callback = owner<sluice_callback, sluice_callback_destroy>;

/** A cancellation token. */
class stop : public owner<sluice_stop, sluice_stop_destroy>
{
  public:
    using owner::owner;

    /** sluice_stop_create() */
    [[nodiscard]] status create() noexcept
    {
        return sluice_stop_create(out());
    }

    /** sluice_stop_request() */
    void request() const noexcept
    {
        sluice_stop_request(get());
    }

    /** sluice_stop_clear() */
    void clear() const noexcept
    {
        sluice_stop_clear(get());
    }
};

/** A device: "host:0", "cuda:0"; NULL is "auto". */
class device : public owner<sluice_device, sluice_device_close>
{
  public:
    using owner::owner;

    /** sluice_device_open() */
    [[nodiscard]] status open(const char *uri) noexcept
    {
        return sluice_device_open(uri, out());
    }
};

/** The report of a run or a channel. */
class report : public owner<sluice_report, sluice_report_destroy>
{
  public:
    using owner::owner;

    /** sluice_report_stats_get() */
    [[nodiscard]] status stats(report_stats &stats_out) const noexcept
    {
        return sluice_report_stats_get(get(), &stats_out);
    }

    /** sluice_report_text() */
    [[nodiscard]] status as_text(text &text_out) const noexcept
    {
        return sluice_report_text(get(), text_out.out());
    }

    /** sluice_report_json() */
    [[nodiscard]] status as_json(text &json_out) const noexcept
    {
        return sluice_report_json(get(), json_out.out());
    }
};

} // namespace sluice

#endif
