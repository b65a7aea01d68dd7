/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Base types of the C++ wrapper: statuses, structs with their defaults, and owners of handles.
 * Included by sluice.hpp.
 */
#ifndef SLUICE_OWNER_HPP
#define SLUICE_OWNER_HPP

#include <cstddef>
#include <utility>

#include <sluice/sluice.h>

/** The C++ wrapper. */
namespace sluice
{

/**
 * The result of a call. Converts to true if the call is OK, and to false for an error and for a
 * result such as TIMEOUT or END_OF_DATA; failed() distinguishes the two.
 */
class [[nodiscard]] status
{
  public:
    /** From a C status; also an implicit conversion. */
    constexpr status(sluice_status value = SLUICE_OK) noexcept : value_(value)
    {
    }

    /** Is it OK? */
    constexpr explicit operator bool() const noexcept
    {
        return value_ == SLUICE_OK;
    }

    /** Is it an error, with a text in last_error()? */
    constexpr bool failed() const noexcept
    {
        return value_ < SLUICE_OK;
    }

    /** The C status, for switch. */
    constexpr sluice_status get() const noexcept
    {
        return value_;
    }

    /** "E_INVALID" */
    const char *name() const noexcept
    {
        return sluice_status_name(value_);
    }

    /** Equal statuses? Also compares with a C status. */
    friend constexpr bool operator==(status a, status b) noexcept
    {
        return a.value_ == b.value_;
    }

    /** Different statuses? Also compares with a C status. */
    friend constexpr bool operator!=(status a, status b) noexcept
    {
        return a.value_ != b.value_;
    }

  private:
    sluice_status value_;
};

/** The text of the last error in this thread: sluice_last_error(). */
inline const char *last_error() noexcept
{
    return sluice_last_error();
}

/* ---- settings and results -------------------------------------------------------------------- */

/** A C struct that is set to its defaults: a constructor in place of sluice_NAME_init(). */
template <typename Struct> struct initialized : Struct {
    /** Sets the defaults. */
    initialized() noexcept : Struct{}
    {
        this->struct_size = sizeof(Struct);
    }
};

/** Hooks of C functions. */
using callback_struct = initialized<sluice_callback>;
/** Settings of a channel. */
using channel_config = initialized<sluice_channel_config>;
/** For channel::inspect(). */
using channel_info = initialized<sluice_channel_info>;
/** For channel::position() and channel_config::position. */
using channel_position = initialized<sluice_channel_position>;
/** For channel::stats(). */
using channel_stats = initialized<sluice_channel_stats>;
/** For train_config::checkpoint. */
using checkpointing = initialized<sluice_checkpointing>;
/** For dataset::inspect(). */
using dataset_info = initialized<sluice_dataset_info>;
/** A model of C functions. */
using model_struct = initialized<sluice_model>;
/** For train_config::device_maps. */
using device_map = initialized<sluice_device_map>;
/** For report::stats(). */
using report_stats = initialized<sluice_report_stats>;
/** For train_config::learning_rate. */
using schedule = initialized<sluice_schedule>;
/** Settings of a run. */
using train_config = initialized<sluice_train_config>;
/** For train_config::validation. */
using validating = initialized<sluice_validating>;

/* ---- ownership ------------------------------------------------------------------------------- */

/** Owns a handle of the library, or none. */
template <typename Handle, void (*destroy)(Handle *)> class owner
{
  public:
    /** Owns none. */
    owner() noexcept = default;

    /** Takes ownership of a handle. */
    explicit owner(Handle *handle) noexcept : handle_(handle)
    {
    }

    /** Takes ownership from `other`. */
    owner(owner &&other) noexcept : handle_(other.release())
    {
    }

    /** Frees the current handle and takes ownership from `other`. */
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other) {
            reset(other.release());
        }
        return *this;
    }

    ~owner()
    {
        reset();
    }

    /** The handle, borrowed; NULL: none. */
    Handle *get() const noexcept
    {
        return handle_;
    }

    /** Does it own a handle? */
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    /** Releases ownership: the caller frees the handle. */
    [[nodiscard]] Handle *release() noexcept
    {
        return std::exchange(handle_, nullptr);
    }

    /** Frees the current handle and takes ownership of another one. */
    void reset(Handle *handle = nullptr) noexcept
    {
        Handle *const before = std::exchange(handle_, handle);

        if (before != nullptr) {
            destroy(before);
        }
    }

    /** Frees the current handle; returns where a C call stores a new one. */
    [[nodiscard]] Handle **out() noexcept
    {
        reset();
        return &handle_;
    }

  private:
    Handle *handle_ = nullptr;
};

/** A text that the library returned. */
class text : public owner<char, sluice_string_free>
{
  public:
    using owner::owner;

    /** The text; "" if there is none. */
    const char *c_str() const noexcept
    {
        return get() != nullptr ? get() : "";
    }
};

} // namespace sluice

#endif
