/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Channels and their batches as C++ objects, for a training loop of your own. Included by
 * sluice.hpp.
 */
#ifndef SLUICE_CHANNEL_HPP
#define SLUICE_CHANNEL_HPP

#include <cstdint>
#include <utility>

#include <sluice/dataset.hpp>
#include <sluice/objects.hpp>

namespace sluice
{

/**
 * A batch that is held: released by the destructor, in the stream that it was fetched with. Its
 * channel outlives it.
 */
class batch
{
  public:
    /** Holds no batch. */
    batch() noexcept = default;

    /** Takes ownership of the batch. */
    batch(batch &&other) noexcept
        : channel_(other.channel_), batch_(std::exchange(other.batch_, nullptr)),
          number_(other.number_), stream_(other.stream_)
    {
    }

    /** Releases the held batch and takes ownership of the other one. */
    batch &operator=(batch &&other) noexcept
    {
        if (this != &other) {
            static_cast<void>(release());
            channel_ = other.channel_;
            batch_ = std::exchange(other.batch_, nullptr);
            number_ = other.number_;
            stream_ = other.stream_;
        }
        return *this;
    }

    ~batch()
    {
        static_cast<void>(release());
    }

    /** The C struct; NULL: no batch is held. */
    const sluice_batch *get() const noexcept
    {
        return batch_;
    }

    /** Does it hold a batch? */
    explicit operator bool() const noexcept
    {
        return batch_ != nullptr;
    }

    /** The batch's fields. A batch must be held. */
    const sluice_batch *operator->() const noexcept
    {
        return batch_;
    }

    /** The C struct. A batch must be held. */
    const sluice_batch &operator*() const noexcept
    {
        return *batch_;
    }

    /** The input of that name, or NULL. A batch must be held. */
    const sluice_tensor *input(const char *name) const noexcept
    {
        return sluice_batch_input(batch_, name);
    }

    /** sluice_channel_release() in the stream of get_next(); OK if no batch is held. */
    status release() noexcept
    {
        return release(stream_);
    }

    /** sluice_channel_release() in another stream. Afterwards no batch is held, also after an
     * error. */
    status release(void *stream) noexcept
    {
        const sluice_batch *const held = std::exchange(batch_, nullptr);

        /* With config.held 1 a later get_next may have released the batch: the number then differs.
         */
        return held != nullptr && held->number == number_
                   ? sluice_channel_release(channel_, held, stream)
                   : SLUICE_OK;
    }

  private:
    friend class channel;

    sluice_channel *channel_ = nullptr;
    const sluice_batch *batch_ = nullptr;
    std::uint64_t number_ = 0;
    void *stream_ = nullptr;
};

/** A channel. Its device and dataset outlive it: declare it after them, and batches after it. */
class channel : public owner<sluice_channel, sluice_channel_close>
{
  public:
    using owner::owner;

    /** sluice_channel_open() */
    [[nodiscard]] status open(const device &on, const dataset &from,
                              const sluice_channel_config &config) noexcept
    {
        return sluice_channel_open(on.get(), from.get(), &config, out());
    }

    /** sluice_channel_start() */
    [[nodiscard]] status start() noexcept
    {
        return sluice_channel_start(get());
    }

    /** Releases the batch that `next` holds, then waits for the next one. */
    [[nodiscard]] status get_next(batch &next, void *stream = nullptr,
                                  std::int64_t timeout_ms = SLUICE_FOREVER) noexcept
    {
        status st = next.release();

        if (st) {
            st = sluice_channel_get_next(get(), stream, timeout_ms, &next.batch_);
        }
        if (st) {
            next.channel_ = get();
            next.number_ = next.batch_->number;
            next.stream_ = stream;
        }
        return st;
    }

    /** sluice_channel_rewind() */
    [[nodiscard]] status rewind() noexcept
    {
        return sluice_channel_rewind(get());
    }

    /** sluice_channel_pause() */
    [[nodiscard]] status pause() noexcept
    {
        return sluice_channel_pause(get());
    }

    /** sluice_channel_resume() */
    [[nodiscard]] status resume() noexcept
    {
        return sluice_channel_resume(get());
    }

    /** sluice_channel_stop() */
    void stop() noexcept
    {
        sluice_channel_stop(get());
    }

    /** sluice_channel_inspect() */
    [[nodiscard]] status inspect(channel_info &info_out) const noexcept
    {
        return sluice_channel_inspect(get(), &info_out);
    }

    /** sluice_channel_position_get() */
    [[nodiscard]] status position(channel_position &position_out) const noexcept
    {
        return sluice_channel_position_get(get(), &position_out);
    }

    /** sluice_channel_stats_get() */
    [[nodiscard]] status stats(channel_stats &stats_out) const noexcept
    {
        return sluice_channel_stats_get(get(), &stats_out);
    }

    /** sluice_channel_step_time() */
    [[nodiscard]] status step_time(double seconds) noexcept
    {
        return sluice_channel_step_time(get(), seconds);
    }

    /** sluice_channel_report() */
    [[nodiscard]] status report_to(report &report_out) const noexcept
    {
        return sluice_channel_report(get(), report_out.out());
    }
};

} // namespace sluice

#endif
