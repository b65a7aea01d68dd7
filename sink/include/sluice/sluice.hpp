/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The C interface for C++17: objects that free what they own, statuses that must not be ignored,
 * and callables where C takes a function and a pointer. Header-only; it throws nothing, and needs
 * neither exceptions nor RTTI.
 *
 * It adds no function of its own. An object gives its handle to any C call by get(), and takes the
 * handle that a C call makes by out():
 *
 *     sluice::dataset dataset;
 *     sluice::status st = sluice_dataset_synthetic(1000, 32, 32, 3, 10, dataset.out());
 *     if (st) {
 *         st = sluice_dataset_batch(dataset.get(), 32, false);
 *     }
 *
 * Objects move and do not copy. One that was moved from is empty: get() is NULL. Statuses, errors
 * and threads are those of the C calls.
 */
#ifndef SLUICE_HPP
#define SLUICE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <sluice/custom.hpp>
#include <sluice/owner.hpp>

/** The C++ wrapper. */
namespace sluice
{

/* ---- small objects --------------------------------------------------------------------------- */

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

/* ---- datasets -------------------------------------------------------------------------------- */

/** An argument of a pipeline text, which refers to it as ${NAME}. */
struct argument {
    const char *name;  /**< letters, digits and _ */
    const char *value; /**< any text: it is not parsed */
};

/** A dataset and its stages. */
class dataset : public owner<sluice_dataset, sluice_dataset_destroy>
{
  public:
    using owner::owner;

    /** sluice_dataset_parse() */
    [[nodiscard]] status parse(const char *pipeline) noexcept
    {
        return sluice_dataset_parse(pipeline, out());
    }

    /** dataset.parse("image_folder ${DIR} | decode | batch 32", {{"DIR", path}}) */
    template <std::size_t N>
    [[nodiscard]] status parse(const char *pipeline, const argument (&arguments)[N]) noexcept
    {
        const split<N> parts(arguments);

        return sluice_dataset_parse_args(pipeline, parts.names, parts.values, N, out());
    }

    /** sluice_dataset_parse_file() */
    [[nodiscard]] status parse_file(const char *path) noexcept
    {
        return sluice_dataset_parse_file(path, out());
    }

    /** sluice_dataset_parse_file_args() */
    template <std::size_t N>
    [[nodiscard]] status parse_file(const char *path, const argument (&arguments)[N]) noexcept
    {
        const split<N> parts(arguments);

        return sluice_dataset_parse_file_args(path, parts.names, parts.values, N, out());
    }

    /**
     * sluice_dataset_source() of a callable (sluice::sample &, std::uint64_t index) that returns
     * status, sluice_status or nothing, which is OK. It takes the place of settings.read; it is
     * moved or copied into the dataset, which destroys it. Workers call it, several at once. An
     * exception is a bad sample with its what() (E_CALLBACK), and std::bad_alloc E_NO_MEMORY.
     */
    template <typename Read>
    [[nodiscard]] status source(const source_settings &settings, Read &&read) noexcept
    {
        return detail::give_callable<sluice_source>(settings, std::forward<Read>(read), out());
    }

    /** The same with its columns. */
    template <std::size_t N, typename Read>
    [[nodiscard]] status source(const source_settings &settings,
                                const sluice_column_spec (&columns)[N], Read &&read) noexcept
    {
        source_settings made = settings;

        made.columns = columns;
        made.column_count = static_cast<std::uint32_t>(N);
        return source(made, std::forward<Read>(read));
    }

    /**
     * sluice_dataset_map() of a callable (sluice::sample &) that returns status, sluice_status or
     * nothing, which is OK. It takes the place of settings.map; otherwise as source().
     */
    template <typename Map>
    [[nodiscard]] status map(const map_settings &settings, Map &&map) noexcept
    {
        return detail::give_callable<sluice_map>(settings, std::forward<Map>(map), get());
    }

    /** The same with its inputs and outputs. */
    template <std::size_t N, std::size_t M, typename Map>
    [[nodiscard]] status map(const map_settings &settings, const char *const (&inputs)[N],
                             const sluice_column_spec (&outputs)[M], Map &&map) noexcept
    {
        map_settings made = settings;

        made.inputs = inputs;
        made.input_count = static_cast<std::uint32_t>(N);
        made.outputs = outputs;
        made.output_count = static_cast<std::uint32_t>(M);
        return this->map(made, std::forward<Map>(map));
    }

    /**
     * Calls sluice_dataset_filter() with a callable (sluice::sample &, bool &keep), which replaces
     * settings.filter. The callable returns status, sluice_status or nothing (OK); `keep` is false
     * when it is called. Ownership and exceptions are as in source().
     */
    template <typename Filter>
    [[nodiscard]] status filter(const filter_settings &settings, Filter &&filter) noexcept
    {
        return detail::give_callable<sluice_filter>(settings, std::forward<Filter>(filter), get());
    }

    /** The same, with an array of the names of the input columns. */
    template <std::size_t N, typename Filter>
    [[nodiscard]] status filter(const filter_settings &settings, const char *const (&inputs)[N],
                                Filter &&filter) noexcept
    {
        filter_settings made = settings;

        made.inputs = inputs;
        made.input_count = static_cast<std::uint32_t>(N);
        return this->filter(made, std::forward<Filter>(filter));
    }

    /** sluice_dataset_add() */
    [[nodiscard]] status add(const char *stages) noexcept
    {
        return sluice_dataset_add(get(), stages);
    }

    /** sluice_dataset_inspect() */
    [[nodiscard]] status inspect(dataset_info &info_out) const noexcept
    {
        return sluice_dataset_inspect(get(), &info_out);
    }

    /** sluice_dataset_describe() */
    [[nodiscard]] status describe(text &text_out) const noexcept
    {
        return sluice_dataset_describe(get(), text_out.out());
    }

    /** sluice_dataset_explain() */
    [[nodiscard]] status explain(text &text_out) const noexcept
    {
        return sluice_dataset_explain(get(), text_out.out());
    }

  private:
    /* Arguments as an array for the C calls. */
    template <std::size_t N> struct split {
        explicit split(const argument (&arguments)[N]) noexcept
        {
            for (std::size_t i = 0; i < N; i++) {
                names[i] = arguments[i].name;
                values[i] = arguments[i].value;
            }
        }

        const char *names[N];
        const char *values[N];
    };
};

/* ---- a loop of your own ---------------------------------------------------------------------- */

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

    /** sluice_channel_report() */
    [[nodiscard]] status report_to(report &report_out) const noexcept
    {
        return sluice_channel_report(get(), report_out.out());
    }
};

/* ---- callables ------------------------------------------------------------------------------- */

/**
 * A reference to a callable, like std::function_ref of C++26. It does not own the callable, which
 * must outlive each call. It accepts objects only, not temporaries. The callable may return status,
 * sluice_status or nothing, which is OK. It must not throw: an exception ends the program
 * (std::terminate), since it cannot pass through C.
 */
template <typename... Arguments> class function_ref
{
  public:
    /** Refers to no callable. */
    function_ref() noexcept = default;

    /** Refers to a callable, which is neither copied nor owned. */
    template <typename Callable, typename = std::enable_if_t<
                                     !std::is_same_v<std::remove_cv_t<Callable>, function_ref>>>
    function_ref(Callable &callable) noexcept
        : object_(const_cast<void *>(static_cast<const volatile void *>(std::addressof(callable)))),
          call_(call_object<Callable>)
    {
        static_assert(std::is_object_v<Callable>, "want an object: a lambda, not a function");
    }

    /** Does it refer to a callable? */
    explicit operator bool() const noexcept
    {
        return call_ != nullptr;
    }

    /** Calls the callable, which must be set. */
    sluice_status operator()(Arguments... arguments) const noexcept
    {
        return call_(object_, arguments...);
    }

  private:
    template <typename Callable>
    static sluice_status call_object(void *object, Arguments... arguments) noexcept
    {
        Callable &callable = *static_cast<Callable *>(object);

        if constexpr (std::is_void_v<std::invoke_result_t<Callable &, Arguments...>>) {
            callable(arguments...);
            return SLUICE_OK;
        } else {
            return status(callable(arguments...)).get();
        }
    }

    void *object_ = nullptr;
    sluice_status (*call_)(void *, Arguments...) = nullptr;
};

/** Like sluice_step_fn. */
using step_ref = function_ref<const sluice_step &>;
/** Like sluice_state_fn, without user: (folder, rank, world). */
using state_ref = function_ref<const char *, std::uint32_t, std::uint32_t>;
/** Like sluice_hook_fn. */
using hook_ref = function_ref<sluice_hook &>;

/**
 * A model with callables as functions: those that are set replace settings.step, eval, save, load
 * and user. The object must not move during train().
 */
struct model {
    model_struct settings; /**< all other fields: inputs, outputs, their names */
    step_ref step;         /**< sluice_model::step */
    step_ref eval;         /**< sluice_model::eval */
    state_ref save;        /**< sluice_model::save */
    state_ref load;        /**< sluice_model::load */

    /** The C struct, valid while this object stays at its address. */
    sluice_model c_model() noexcept
    {
        sluice_model made = settings;

        made.user = this;
        made.step = step ? call<&model::step> : nullptr;
        made.eval = eval ? call<&model::eval> : nullptr;
        made.save = save ? call_state<&model::save> : nullptr;
        made.load = load ? call_state<&model::load> : nullptr;
        return made;
    }

  private:
    template <step_ref model::*which>
    static sluice_status call(const sluice_step *step, void *user) noexcept
    {
        return (static_cast<model *>(user)->*which)(*step);
    }

    template <state_ref model::*which>
    static sluice_status call_state(void *user, const char *folder, std::uint32_t rank,
                                    std::uint32_t world) noexcept
    {
        return (static_cast<model *>(user)->*which)(folder, rank, world);
    }
};

/** Callables as hooks. get() is an entry of config.callbacks; the object must not move meanwhile.
 */
class hooks
{
  public:
    hook_ref train_begin; /**< sluice_callback::train_begin */
    hook_ref epoch_begin; /**< sluice_callback::epoch_begin */
    hook_ref step_begin;  /**< sluice_callback::step_begin */
    hook_ref records;     /**< sluice_callback::records */
    hook_ref step_end;    /**< sluice_callback::step_end */
    hook_ref validation;  /**< sluice_callback::validation */
    hook_ref epoch_end;   /**< sluice_callback::epoch_end */
    hook_ref train_end;   /**< sluice_callback::train_end */

    /** No hooks. */
    hooks() noexcept = default;
    hooks(const hooks &) = delete;
    hooks &operator=(const hooks &) = delete;

    /** The C struct with the callables that are set now; owned by this object. */
    sluice_callback *get() noexcept
    {
        callback_.user = this;
        callback_.train_begin = train_begin ? call<&hooks::train_begin> : nullptr;
        callback_.epoch_begin = epoch_begin ? call<&hooks::epoch_begin> : nullptr;
        callback_.step_begin = step_begin ? call<&hooks::step_begin> : nullptr;
        callback_.records = records ? call<&hooks::records> : nullptr;
        callback_.step_end = step_end ? call<&hooks::step_end> : nullptr;
        callback_.validation = validation ? call<&hooks::validation> : nullptr;
        callback_.epoch_end = epoch_end ? call<&hooks::epoch_end> : nullptr;
        callback_.train_end = train_end ? call<&hooks::train_end> : nullptr;
        return &callback_;
    }

  private:
    template <hook_ref hooks::*which>
    static sluice_status call(sluice_hook *hook, void *user) noexcept
    {
        return (static_cast<hooks *>(user)->*which)(*hook);
    }

    callback_struct callback_;
};

/* ---- training -------------------------------------------------------------------------------- */

/** sluice_train(). Makes a report if report_out is not NULL. */
[[nodiscard]] inline status train(const device &on, model &trained, const dataset &from,
                                  const sluice_train_config &config,
                                  report *report_out = nullptr) noexcept
{
    const sluice_model made = trained.c_model();

    return sluice_train(on.get(), &made, from.get(), &config,
                        report_out != nullptr ? report_out->out() : nullptr);
}

/** sluice_train() of a model that consists only of a step: a callable, which is not copied. */
template <typename Step,
          typename = std::enable_if_t<std::is_invocable_v<Step &, const sluice_step &>>>
[[nodiscard]] status train(const device &on, Step &&step, const dataset &from,
                           const sluice_train_config &config, report *report_out = nullptr) noexcept
{
    model trained;

    trained.step = step;
    return train(on, trained, from, config, report_out);
}

} // namespace sluice

#endif
