/*
 * Portico for C: renders kpt packages in this process, without containers.
 *
 * A program makes one engine, starts renders on it, waits for each of them and reads its result:
 *
 *     portico_engine_options_t options;
 *     portico_engine_options_init(&options);
 *     portico_engine_t *engine = NULL;
 *     portico_error_t *error = NULL;
 *     if (portico_engine_new(&options, &engine, &error) != PORTICO_OK) { ... portico_error_message(error) ... }
 *     portico_render_t *render = NULL;
 *     if (portico_render(engine, files, file_count, NULL, &render, &error) != PORTICO_OK) { ... }
 *     const portico_result_t *result = NULL;
 *     if (portico_wait(render, -1, &result, &error) == PORTICO_OK) { ... portico_result_change(result, ...) ... }
 *     portico_render_free(render);
 *     portico_engine_free(engine);
 *
 * Ownership
 *   - What goes in is borrowed for the length of the call and copied where it is needed longer. That is so for every
 *     pointer inside of options and files too.
 *   - What comes out as `portico_engine_t *`, `portico_render_t *` and `portico_error_t *` belongs to the caller, who
 *     frees it once with the function of its name. Freeing NULL does nothing. Freeing twice, or using what was freed,
 *     is undefined, as with free(3).
 *   - A `const portico_result_t *` and every text in it belong to their render and last until portico_render_free.
 *   - The message of an error belongs to the error.
 *   - An out parameter is set to NULL first, and stays NULL when the call fails. `error` may be NULL where the caller
 *     wants no message; every other out parameter must not be.
 *
 * Threads
 *   - Every function may be called from every thread at the same time, with the same handles, but for the `_free`
 *     functions: nobody may use a handle while or after it is freed.
 *   - Nothing calls back. Functions run on threads of the engine, which block all signals but those of faults and of
 *     spent processor time, so the program's own handlers never run on them. Only portico_wait blocks, and
 *     portico_engine_free while its threads end.
 *   - After fork(2) the child has none of the threads: it may call exec and _exit, and nothing of this library.
 *
 * Signals
 *   - The first engine of a process installs handlers for SIGSEGV, SIGILL and SIGFPE, with SA_ONSTACK: faults of
 *     WebAssembly code are ended functions, and every other fault goes to the handler that was there before. Whoever
 *     installs handlers for these signals later must pass on what is not theirs in the same way. The handlers stay when
 *     the engine is freed, so the library must not be unloaded; the shared library is linked so that dlclose keeps it.
 *
 * Faults
 *   - A panic inside the library never crosses into the caller: it becomes PORTICO_INTERNAL. Running out of memory
 *     ends the process.
 */
#ifndef PORTICO_H
#define PORTICO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The shape of everything below. It changes when programs have to be compiled again, and only then: new functions, new
 * fields at the end of structs with a `struct_size`, and new limits are no such change.
 */
#define PORTICO_ABI_VERSION 1u

/* What functions answer. */
enum {
    PORTICO_OK = 0,
    /* portico_wait: the time is over and the render has not ended. No error. */
    PORTICO_PENDING = 1,
    /* An argument is not what it has to be; the message names it. Nothing was done. */
    PORTICO_INVALID_ARGUMENT = 2,
    /* The program was compiled with another portico.h than this library has. */
    PORTICO_ABI_MISMATCH = 3,
    /* The system does not give what an engine needs: a thread, address space. */
    PORTICO_ENGINE = 4,
    /* As many renders wait as may: `queue` of the engine. Try again when some have ended. */
    PORTICO_BUSY = 5,
    /* The package can't be rendered at all: no Kptfile, a damaged one, a path that is none, a limit. */
    PORTICO_PACKAGE = 6,
    /* The render was cancelled, or its engine was freed. */
    PORTICO_CANCELLED = 7,
    /* The process that was to render in isolation gave no outcome. */
    PORTICO_WORKER = 8,
    /* A fault of this library; please report it with the message. */
    PORTICO_INTERNAL = 9
};

/* Who compiles modules that are neither part of this library nor in the cache. */
enum {
    /* Nobody. */
    PORTICO_COMPILE_FORBIDDEN = 0,
    /* A child process for each module, with bounds on its memory and time: the `program` of the options. */
    PORTICO_COMPILE_CHILD = 1
};

/* How changed files are written. */
enum {
    /* Comments, quotes and layout stay where nothing changes. */
    PORTICO_STYLE_PRESERVE = 0,
    /* Byte for byte as kpt writes them. */
    PORTICO_STYLE_KPT = 1
};

/* How much of the outcome goes into the root Kptfile. */
enum {
    PORTICO_RECORD_FULL = 0,
    PORTICO_RECORD_CONDITIONS = 1,
    PORTICO_RECORD_NONE = 2
};

/* Flags of a render. */
enum {
    /* The field `condition` of functions has an effect. */
    PORTICO_FLAG_CONDITIONS = 1
};

/* How a render ended. */
enum {
    PORTICO_STATUS_RENDERED = 0,
    /* A file of the package is not what it has to be. */
    PORTICO_STATUS_BAD_PACKAGE = 1,
    /* A function can't be found, or may not be run. */
    PORTICO_STATUS_UNRESOLVED = 2,
    /* A function failed, was ended by a limit, or answered something that can't be taken. */
    PORTICO_STATUS_FUNCTION_FAILED = 3,
    /* The resources can't be mapped back to files. */
    PORTICO_STATUS_BAD_OUTPUT = 4
};

/* Which list of the pipeline a step stands in. */
enum {
    PORTICO_STEP_MUTATOR = 0,
    PORTICO_STEP_VALIDATOR = 1
};

/* How a step ended. */
enum {
    PORTICO_STEP_PASSED = 0,
    PORTICO_STEP_FAILED = 1,
    /* Its condition said that it need not run. */
    PORTICO_STEP_SKIPPED = 2,
    /* An earlier step failed, or another function of its package can't run. */
    PORTICO_STEP_NOT_RUN = 3
};

/*
 * Bytes and how many. Going in: NULL with 0 is an absent text. Coming out: never NULL, and a zero byte follows that
 * `len` does not count, so a text without zero bytes inside is a C string.
 */
typedef struct portico_text {
    const char *data;
    size_t len;
} portico_text_t;

/* A file of a package. */
typedef struct portico_file {
    /* Slash path from the root of the package, UTF-8: `Kptfile`, `db/deployment.yaml`. */
    portico_text_t path;
    portico_text_t content;
} portico_file_t;

/*
 * A limit: its name as docs/limits.md gives it (`memory`, `stepTime`, `package.files`), and its value: a number, bytes,
 * or nanoseconds. UINT64_MAX: no limit.
 */
typedef struct portico_limit {
    portico_text_t name;
    uint64_t value;
} portico_limit_t;

/* A module of one's own: the image name that stands for it in Kptfiles, and its file. */
typedef struct portico_function {
    portico_text_t image;
    portico_text_t module;
} portico_function_t;

/* How to make an engine. Call portico_engine_options_init, then set what shall differ. */
typedef struct portico_engine_options {
    /* Set by portico_engine_options_init. */
    size_t struct_size;
    /* Set by portico_engine_options_init. */
    uint32_t abi_version;
    /* PORTICO_COMPILE_*; default: forbidden. The functions of the catalog are part of this library and need none. */
    uint32_t compile;
    /* The path of the `portico` program of this version; needed by PORTICO_COMPILE_CHILD and `isolate`. */
    portico_text_t program;
    /* Where compiled modules are kept; made if it is not there; must belong to this user alone. Default: nowhere. */
    portico_text_t cache_dir;
    /* Renders that run at the same time; each has a thread, which is started when it is first needed. 0: one a core. */
    uint32_t workers;
    /* Renders that wait at most; each holds its package. 0: 1,000. */
    uint32_t queue;
    /*
     * Function instances that are kept ready, which makes short functions ten times faster. Each takes 4 GiB of address
     * space, for good. 0: none; a running function then takes that address space only while it runs.
     */
    uint32_t pool_slots;
    /* 1: functions run in child processes without files and sockets, one for each tenant. 0: in this process. */
    uint32_t isolate;
    /* Modules of one's own, before all others; a later one of the same name wins. */
    const portico_function_t *functions;
    size_t function_count;
    /* Directories of modules: NAME.wasm, NAME@TAG.wasm. After `functions`, before the catalog. */
    const portico_text_t *function_dirs;
    size_t function_dir_count;
    /* What each render may use, where it is not the default. */
    const portico_limit_t *limits;
    size_t limit_count;
} portico_engine_options_t;

/* How to render. Call portico_render_options_init, then set what shall differ. */
typedef struct portico_render_options {
    /* Set by portico_render_options_init. */
    size_t struct_size;
    /* PORTICO_STYLE_*. */
    uint32_t style;
    /* PORTICO_RECORD_*. */
    uint32_t record;
    /* Absolute path to show as the package's place; its last name is the package's name. Default: `/package`. */
    portico_text_t root;
    /* Whose package it is: with `isolate`, no process renders for two tenants. */
    portico_text_t tenant;
    /* What stands before short image names. Default: kpt's. */
    portico_text_t image_prefix;
    /* What this render may use, where it differs from the engine's. */
    const portico_limit_t *limits;
    size_t limit_count;
    /* PORTICO_FLAG_*, added up. */
    uint32_t flags;
    /* 0. */
    uint32_t reserved;
} portico_render_options_t;

/* A file that is to change. */
typedef struct portico_change {
    portico_text_t path;
    /* The whole new content; empty when the file is to be deleted. */
    portico_text_t content;
    /* 1: the file is to be gone. 0: it is to have this content. */
    uint32_t deleted;
    uint32_t reserved;
} portico_change_t;

/* One function call of a render. */
typedef struct portico_step {
    /* Set by the caller to sizeof(portico_step_t). */
    size_t struct_size;
    /* Slash path of its package from the root; empty for the root. */
    portico_text_t package;
    /* Its `name` in the Kptfile, or empty. */
    portico_text_t name;
    /* The full image. */
    portico_text_t image;
    /* Why it could not be started, was ended, or had its output refused; empty when the exit code says it all. */
    portico_text_t execution_error;
    /* The same as a word for programs (`exit`, `outOfFuel`, `deadline`, `notFound` ...); empty when it did not fail. */
    portico_text_t cause;
    /* Its standard error. */
    portico_text_t stderr_text;
    /* Bytes of standard error that were dropped beyond the limit. */
    uint64_t stderr_dropped;
    uint64_t elapsed_nanoseconds;
    uint64_t fuel;
    /* Bytes of linear memory. */
    uint64_t peak_memory;
    /* How many resources it got; -1 when it was not run. */
    int64_t resources;
    int32_t exit_code;
    /* PORTICO_STEP_MUTATOR or PORTICO_STEP_VALIDATOR. */
    uint32_t kind;
    /* Its position in that list, from 0. */
    uint32_t index;
    /* PORTICO_STEP_PASSED, _FAILED, _SKIPPED, _NOT_RUN. */
    uint32_t state;
} portico_step_t;

typedef struct portico_engine portico_engine_t;
typedef struct portico_render portico_render_t;
typedef struct portico_result portico_result_t;
typedef struct portico_error portico_error_t;

/* PORTICO_ABI_VERSION of the library, which may be another than that of the header. */
uint32_t portico_abi_version(void);

/* The version of Portico, such as `0.1.0`; lasts for ever. */
const char *portico_version(void);

/*
 * Makes an engine. `options` may be NULL for the defaults. On success the caller owns `*engine`. One for a process is
 * enough.
 */
int32_t portico_engine_new(const portico_engine_options_t *options, portico_engine_t **engine, portico_error_t **error);

/*
 * Frees an engine: cancels every render that waits or runs on it, and returns when its threads have ended, normally
 * within milliseconds. The renders stay valid: waiting for them tells PORTICO_CANCELLED, and results that were there
 * stay there.
 */
void portico_engine_free(portico_engine_t *engine);

/*
 * Starts a render of these files and returns at once. `options` may be NULL for the defaults. Files whose names kpt does
 * not read (all but Kptfile, *.yaml, *.yml, *.json and .krmignore) are not copied; a path must not come twice. On
 * success the caller owns `*render`. The engine must outlive the call, not the render.
 */
int32_t portico_render(portico_engine_t *engine, const portico_file_t *files, size_t file_count,
                       const portico_render_options_t *options, portico_render_t **render, portico_error_t **error);

/*
 * Starts one function on one ResourceList, given in YAML: for those who drive a pipeline of their own. `image` is a name
 * as a Kptfile has it. Of the options `style`, `record`, `root` and `flags` mean nothing here. Else as portico_render: the
 * handle is waited for, cancelled and freed in the same way. Its result has one step and no changes; what the function
 * wrote is portico_result_output. An engine with `isolate` does not do this.
 *
 * The function is looked for before the list is looked at: one that nobody has is a result of PORTICO_STATUS_UNRESOLVED whose
 * step has the cause `notFound`, whatever the list is. So an absent list asks whether there is a function, and runs nothing:
 * portico_wait answers PORTICO_INVALID_ARGUMENT with a message that begins with `resource_list` when it can be run.
 */
int32_t portico_evaluate(portico_engine_t *engine, portico_text_t image, portico_text_t resource_list,
                         const portico_render_options_t *options, portico_render_t **render, portico_error_t **error);

/*
 * Waits until the render has ended, at most this many milliseconds: 0 looks without waiting, a negative time waits for
 * ever. Any number of threads may wait for one render, as often as they like, and get the same.
 *
 * PORTICO_OK: `*result` is its result, also when the render failed, see portico_result_status. PORTICO_PENDING: it has
 * not ended. PORTICO_PACKAGE, PORTICO_CANCELLED, PORTICO_WORKER, PORTICO_INTERNAL, and of portico_evaluate
 * PORTICO_INVALID_ARGUMENT and PORTICO_ENGINE: it has ended and has no result; the message tells why.
 */
int32_t portico_wait(portico_render_t *render, int64_t timeout_milliseconds, const portico_result_t **result,
                     portico_error_t **error);

/*
 * Stops a render: one that waits at once, one that runs within milliseconds. Twice, or after its end, changes nothing.
 * NULL does nothing.
 */
void portico_cancel(portico_render_t *render);

/* Frees a render with its result. One that has not ended is cancelled; nothing waits for it. */
void portico_render_free(portico_render_t *render);

/* PORTICO_STATUS_*. Of NULL: PORTICO_STATUS_BAD_PACKAGE. */
int32_t portico_result_status(const portico_result_t *result);

/* Why the render failed, what to do, perhaps on several lines; empty when it is rendered. */
portico_text_t portico_result_message(const portico_result_t *result);

/* The package in which the render failed: slash path from the root, empty for the root. */
portico_text_t portico_result_failed_package(const portico_result_t *result);

/* The step with which the render failed; -1 when there is none. */
int64_t portico_result_failed_step(const portico_result_t *result);

/* 1 when the changes are the unfinished state that `kpt.dev/save-on-render-failure` asks for, else 0. */
int32_t portico_result_saved_on_failure(const portico_result_t *result);

/* What the functions reported, as the `results.yaml` of kpt. */
portico_text_t portico_result_yaml(const portico_result_t *result);

/*
 * What the function of portico_evaluate wrote, byte for byte: a ResourceList when it passed, anything when it failed. Of
 * portico_render: empty.
 */
portico_text_t portico_result_output(const portico_result_t *result);

/* How many packages the tree holds. */
size_t portico_result_packages(const portico_result_t *result);

/* How many files change. A failed render changes the Kptfile, where its status stands, if that. */
size_t portico_result_changes(const portico_result_t *result);

/* The change at this place, from 0. PORTICO_INVALID_ARGUMENT where there is none; `*change` is empty then. */
int32_t portico_result_change(const portico_result_t *result, size_t at, portico_change_t *change);

/* How many functions the pipelines have, those that did not run included, in the order of execution. */
size_t portico_result_steps(const portico_result_t *result);

/* The step at this place, from 0; the caller sets `step->struct_size` first. Else as portico_result_change. */
int32_t portico_result_step(const portico_result_t *result, size_t at, portico_step_t *step);

/* How many warnings there are: things to tell that did not stop the render. */
size_t portico_result_warnings(const portico_result_t *result);

/* The warning at this place, from 0; empty where there is none. */
portico_text_t portico_result_warning(const portico_result_t *result, size_t at);

/* The code that the function answered. Of NULL: PORTICO_OK. */
int32_t portico_error_code(const portico_error_t *error);

/* What happened and what to do; UTF-8, never NULL. */
const char *portico_error_message(const portico_error_t *error);

void portico_error_free(portico_error_t *error);

/* Sets everything to its default. */
static inline void portico_engine_options_init(portico_engine_options_t *options) {
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    options->abi_version = PORTICO_ABI_VERSION;
}

/* Sets everything to its default. */
static inline void portico_render_options_init(portico_render_options_t *options) {
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

/* A C string as a text; it must last as long as the text is used. */
static inline portico_text_t portico_text(const char *string) {
    portico_text_t text = {string, string == NULL ? 0 : strlen(string)};
    return text;
}

#ifdef __cplusplus
}
#endif

#endif
