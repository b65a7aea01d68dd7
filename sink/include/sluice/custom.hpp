/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Your own code in a pipeline, in C++: the sample that is passed to a callable, and the conversion
 * of callables to C callbacks. Included by sluice.hpp.
 */
#ifndef SLUICE_CUSTOM_HPP
#define SLUICE_CUSTOM_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>
#if defined(__cpp_exceptions)
#include <exception>
#endif

#include <sluice/owner.hpp>

namespace sluice
{

/** A C struct sluice_source with its defaults. */
struct source_settings : initialized<sluice_source> {
    /** Sets the defaults. */
    source_settings() noexcept
    {
        column_size = sizeof(sluice_column_spec);
    }
};

/** A C struct sluice_map with its defaults. */
struct map_settings : initialized<sluice_map> {
    /** Sets the defaults. */
    map_settings() noexcept
    {
        column_size = sizeof(sluice_column_spec);
    }
};

/** A C struct sluice_filter with its defaults. */
struct filter_settings : initialized<sluice_filter> {
};

/** A C struct sluice_map_batch with its defaults. */
struct map_batch_settings : initialized<sluice_map_batch> {
    /** Sets the defaults. */
    map_batch_settings() noexcept
    {
        column_size = sizeof(sluice_column_spec);
    }
};

/** One batch in host memory, lent to a callable until it returns. */
class host_batch
{
  public:
    /** Wraps the C object. */
    explicit host_batch(sluice_host_batch *handle) noexcept : handle_(handle)
    {
    }

    /** The C object. */
    sluice_host_batch *get() const noexcept
    {
        return handle_;
    }

    /** sluice_host_batch_rows() */
    std::uint32_t rows() const noexcept
    {
        return sluice_host_batch_rows(handle_);
    }

    /** sluice_host_batch_valid_rows() */
    std::uint32_t valid_rows() const noexcept
    {
        return sluice_host_batch_valid_rows(handle_);
    }

    /** sluice_host_batch_samples() */
    const std::uint64_t *samples() const noexcept
    {
        return sluice_host_batch_samples(handle_);
    }

    /** sluice_host_batch_random() */
    std::uint64_t random(std::uint32_t n) const noexcept
    {
        return sluice_host_batch_random(handle_, n);
    }

    /** sluice_host_batch_worker(): what begin gave, or NULL. */
    template <typename State> State *worker() const noexcept
    {
        return static_cast<State *>(sluice_host_batch_worker(handle_));
    }

    /** sluice_host_batch_column() */
    [[nodiscard]] status column(const char *name, sluice_host_column &column_out) const noexcept
    {
        return sluice_host_batch_column(handle_, name, &column_out);
    }

  private:
    sluice_host_batch *handle_;
};

/** One sample in the pipeline, lent to a callable until it returns. */
class sample
{
  public:
    /** Wraps the C object. */
    explicit sample(sluice_sample *handle) noexcept : handle_(handle)
    {
    }

    /** The C object. */
    sluice_sample *get() const noexcept
    {
        return handle_;
    }

    /** sluice_sample_number() */
    std::uint64_t number() const noexcept
    {
        return sluice_sample_number(handle_);
    }

    /** sluice_sample_random() */
    std::uint64_t random(std::uint32_t n) const noexcept
    {
        return sluice_sample_random(handle_, n);
    }

    /** sluice_sample_worker(): the state that begin has made, in a stream open_pass, or NULL. */
    template <typename State> State *worker() const noexcept
    {
        return static_cast<State *>(sluice_sample_worker(handle_));
    }

    /** sluice_sample_stop_fd() */
    int stop_fd() const noexcept
    {
        return sluice_sample_stop_fd(handle_);
    }

    /** sluice_sample_get() */
    [[nodiscard]] status get(const char *column, sluice_sample_view &view_out) const noexcept
    {
        return sluice_sample_get(handle_, column, &view_out);
    }

    /** sluice_sample_room(), with the declared shape or with `shape`. */
    template <typename Element>
    [[nodiscard]] status room(const char *column, Element *&room_out,
                              std::initializer_list<std::uint64_t> shape = {}) const noexcept
    {
        const dimensions of(shape);
        void *room = nullptr;
        const status st = sluice_sample_room(handle_, column, of.get(), &room);

        if (st) {
            room_out = static_cast<Element *>(room);
        }
        return st;
    }

    /** sluice_sample_lend() of `size` bytes, with the declared shape or with `shape`. */
    [[nodiscard]] status lend(const char *column, const void *bytes, std::size_t size,
                              std::initializer_list<std::uint64_t> shape = {}) const noexcept
    {
        const dimensions of(shape);

        return sluice_sample_lend(handle_, column, of.get(), bytes, size);
    }

    /** sluice_sample_warped() */
    [[nodiscard]] status warped(const double (&matrix)[6]) const noexcept
    {
        return sluice_sample_warped(handle_, matrix);
    }

  private:
    /* A shape as an array for the C calls, which read as many dimensions as the column has. */
    struct dimensions {
        explicit dimensions(std::initializer_list<std::uint64_t> shape) noexcept
            : given(shape.size() > 0)
        {
            std::size_t i = 0;

            for (const std::uint64_t length : shape) {
                if (i < SLUICE_MAX_RANK) {
                    lengths[i++] = length;
                }
            }
        }

        const std::uint64_t *get() const noexcept
        {
            return given ? lengths : nullptr;
        }

        std::uint64_t lengths[SLUICE_MAX_RANK] = {};
        bool given;
    };

    sluice_sample *handle_;
};

/** Converts callables to C callbacks. */
namespace detail
{

/** Calls a callable and converts its result or exception to a status: no exception passes through
 * C. */
template <typename Callable, typename... Arguments>
sluice_status call_stopped(Callable &callable, Arguments &&...arguments) noexcept
{
#if defined(__cpp_exceptions)
    try {
#endif
        if constexpr (std::is_void_v<std::invoke_result_t<Callable &, Arguments...>>) {
            callable(std::forward<Arguments>(arguments)...);
            return SLUICE_OK;
        } else {
            return status(callable(std::forward<Arguments>(arguments)...)).get();
        }
#if defined(__cpp_exceptions)
    } catch (const std::bad_alloc &) {
        return sluice_fail(SLUICE_E_NO_MEMORY, "out of memory: std::bad_alloc was thrown");
    } catch (const std::exception &error) {
        return sluice_fail(SLUICE_E_CALLBACK, "an exception: %s", error.what());
    } catch (...) {
        return sluice_fail(SLUICE_E_CALLBACK, "an exception that is not a std::exception");
    }
#endif
}

/** The C call of a source. */
inline sluice_status call_c(const sluice_source &made, sluice_dataset **dataset_out) noexcept
{
    return sluice_dataset_source(&made, dataset_out);
}

/** The C call of a map. */
inline sluice_status call_c(const sluice_map &made, sluice_dataset *dataset) noexcept
{
    return sluice_dataset_map(dataset, &made);
}

/** Adds a filter by its C function. */
inline sluice_status call_c(const sluice_filter &made, sluice_dataset *dataset) noexcept
{
    return sluice_dataset_filter(dataset, &made);
}

/** Adds a map of whole batches by its C function. */
inline sluice_status call_c(const sluice_map_batch &made, sluice_dataset *dataset) noexcept
{
    return sluice_dataset_map_batch(dataset, &made);
}

/** Holds the callable of a source, map, filter or map of whole batches; owned by the dataset. The
 * other callbacks come from the settings. */
template <typename Settings, typename Callable> class callable_holder
{
  public:
    /** Moves the callable into the holder. */
    callable_holder(const Settings &settings, Callable &&callable)
        : settings_(settings), callable_(std::move(callable))
    {
    }

    /** Passes the holder to the dataset, which then owns it; on failure the caller still owns it.
     */
    template <typename Dataset> status give_to(Dataset dataset) noexcept
    {
        Settings made = settings_;

        made.user = this;
        set_callable(made);
        made.begin = settings_.begin != nullptr ? begin : nullptr;
        made.end = settings_.end != nullptr ? end : nullptr;
        made.close = close;
        return call_c(made, dataset);
    }

  private:
    static callable_holder &of(void *user) noexcept
    {
        return *static_cast<callable_holder *>(user);
    }

    void set_callable(sluice_source &made) noexcept
    {
        if constexpr (std::is_invocable_v<Callable &, sample &, std::uint64_t>) {
            made.read = read;
        } else {
            made.next = next;
        }
        made.name_of = settings_.name_of != nullptr ? name_of : nullptr;
        made.open_pass = settings_.open_pass != nullptr ? open_pass : nullptr;
        made.close_pass = settings_.close_pass != nullptr ? close_pass : nullptr;
    }

    void set_callable(sluice_map &made) noexcept
    {
        made.map = map;
    }

    void set_callable(sluice_filter &made) noexcept
    {
        made.filter = filter;
    }

    void set_callable(sluice_map_batch &made) noexcept
    {
        made.map = map_batch;
    }

    static sluice_status read(sluice_sample *handle, std::uint64_t index, void *user) noexcept
    {
        sample lent(handle);

        return call_stopped(of(user).callable_, lent, index);
    }

    static sluice_status next(sluice_sample *handle, void *, void *user) noexcept
    {
        sample lent(handle);

        return call_stopped(of(user).callable_, lent);
    }

    static sluice_status open_pass(std::uint64_t pass, void *user, void **pass_out) noexcept
    {
        return of(user).settings_.open_pass(pass, of(user).settings_.user, pass_out);
    }

    static void close_pass(void *pass, void *user) noexcept
    {
        of(user).settings_.close_pass(pass, of(user).settings_.user);
    }

    static sluice_status map(sluice_sample *handle, void *user) noexcept
    {
        sample lent(handle);

        return call_stopped(of(user).callable_, lent);
    }

    static sluice_status map_batch(sluice_host_batch *handle, void *user) noexcept
    {
        host_batch lent(handle);

        return call_stopped(of(user).callable_, lent);
    }

    static sluice_status filter(sluice_sample *handle, std::uint32_t *keep_out, void *user) noexcept
    {
        sample lent(handle);
        bool keep = false;
        const sluice_status st = call_stopped(of(user).callable_, lent, keep);

        *keep_out = keep ? 1 : 0;
        return st;
    }

    static sluice_status name_of(std::uint64_t index, char *text, std::size_t size,
                                 void *user) noexcept
    {
        return of(user).settings_.name_of(index, text, size, of(user).settings_.user);
    }

    static sluice_status begin(void *user, void **worker_out) noexcept
    {
        return of(user).settings_.begin(of(user).settings_.user, worker_out);
    }

    static void end(void *worker, void *user) noexcept
    {
        of(user).settings_.end(worker, of(user).settings_.user);
    }

    static void close(void *user) noexcept
    {
        callable_holder *const holder = &of(user);

        if (holder->settings_.close != nullptr) {
            holder->settings_.close(holder->settings_.user);
        }
        delete holder;
    }

    Settings settings_;
    Callable callable_;
};

/** Copies or moves a callable, and calls sluice_dataset_source(), _map(), _filter() or _map_batch()
 * with it. */
template <typename Settings, typename Callable, typename Dataset>
status give_callable(const Settings &settings, Callable &&callable, Dataset dataset) noexcept
{
    using holder = callable_holder<Settings, std::decay_t<Callable>>;

    holder *made = nullptr;
    status st = SLUICE_OK;
    auto make = [&] {
        made = new (std::nothrow)
            holder(settings, std::decay_t<Callable>(std::forward<Callable>(callable)));
    };

    if (settings.struct_size != sizeof(settings)) {
        return sluice_fail(SLUICE_E_INVALID,
                           "struct_size is not set; use sluice::source_settings, map_settings, "
                           "filter_settings or map_batch_settings, which set it");
    }
    st = call_stopped(make); /* copying the callable may throw */
    if (st && made == nullptr) {
        st = sluice_fail(SLUICE_E_NO_MEMORY, "out of memory: the callable of a dataset");
    }
    if (st) {
        st = made->give_to(dataset);
    }
    if (!st) {
        delete made;
    }
    return st;
}

} // namespace detail

} // namespace sluice

#endif
