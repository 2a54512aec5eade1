/* Stops renders: those that run, those that wait, with and without a thread that waits for them. */
#include "client.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static const char endless_kptfile[] =
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n"
    "  - image: starlark:v0.4.3\n    configPath: fn.yaml\n";

static const char endless_function[] =
    "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: f\n  annotations:\n"
    "    config.kubernetes.io/local-config: 'true'\nsource: |\n"
    "  def spin():\n    for a in range(1000000000):\n      for b in range(1000000000):\n        pass\n  spin()\n";

static portico_render_t *endless(portico_engine_t *engine) {
    portico_file_t files[] = {file_of("Kptfile", endless_kptfile), file_of("fn.yaml", endless_function)};
    portico_limit_t limits[] = {{portico_text("fuel"), UINT64_MAX},
                                {portico_text("stepTime"), UINT64_MAX},
                                {portico_text("renderTime"), UINT64_MAX}};
    portico_render_options_t options;
    portico_render_options_init(&options);
    options.limits = limits;
    options.limit_count = 3;
    portico_render_t *render = NULL;
    portico_error_t *error = NULL;
    CHECK_OK(portico_render(engine, files, 2, &options, &render, &error), error);
    return render;
}

static void is_cancelled(portico_render_t *render) {
    const portico_result_t *result = NULL;
    portico_error_t *error = NULL;
    CHECK(portico_wait(render, -1, &result, &error) == PORTICO_CANCELLED);
    CHECK(result == NULL && strstr(portico_error_message(error), "cancelled") != NULL);
    portico_error_free(error);
}

static void *waits(void *render) {
    is_cancelled(render);
    return NULL;
}

/* A signal of the program is never handled on a thread of the engine. */
static pthread_t main_thread;
static volatile sig_atomic_t handled, elsewhere;

static void handler(int signal) {
    (void)signal;
    handled = 1;
    if (!pthread_equal(pthread_self(), main_thread)) {
        elsewhere = 1;
    }
}

int main(void) {
    main_thread = pthread_self();
    struct sigaction action = {0};
    action.sa_handler = handler;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);

    portico_engine_options_t options;
    portico_engine_options_init(&options);
    options.workers = 1;
    options.queue = 2;
    portico_engine_t *engine = NULL;
    portico_error_t *error = NULL;
    CHECK_OK(portico_engine_new(&options, &engine, &error), error);

    /* One runs, two wait, and there is no room for a fourth. */
    portico_render_t *running = endless(engine), *second = endless(engine), *third = endless(engine), *fourth = NULL;
    portico_file_t files[] = {file_of("Kptfile", kptfile_text)};
    const portico_result_t *result = NULL;
    CHECK(portico_wait(running, 20, &result, &error) == PORTICO_PENDING && error == NULL && result == NULL);
    CHECK(portico_render(engine, files, 1, NULL, &fourth, &error) == PORTICO_BUSY);
    CHECK(fourth == NULL && strstr(portico_error_message(error), "`queue`") != NULL);
    portico_error_free(error);

    /* The main thread blocks the signal: only other threads could take it, and none does. */
    sigset_t alarm, before;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    CHECK(pthread_sigmask(SIG_BLOCK, &alarm, &before) == 0);
    CHECK(kill(getpid(), SIGALRM) == 0);
    CHECK(portico_wait(running, 20, &result, &error) == PORTICO_PENDING);
    CHECK(!handled);
    CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    CHECK(handled && !elsewhere);

    /* One that waits has ended with the cancel, although the thread is busy, and makes room. */
    portico_cancel(second);
    CHECK(portico_wait(second, 0, &result, NULL) == PORTICO_CANCELLED);
    CHECK_OK(portico_render(engine, files, 1, NULL, &fourth, &error), error);

    /* Everyone who waits for one that runs is told. */
    pthread_t waiters[4];
    for (int at = 0; at < 4; at++) {
        CHECK(pthread_create(&waiters[at], NULL, waits, running) == 0);
    }
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    portico_cancel(running);
    portico_cancel(running);
    is_cancelled(running);
    clock_gettime(CLOCK_MONOTONIC, &to);
    for (int at = 0; at < 4; at++) {
        CHECK(pthread_join(waiters[at], NULL) == 0);
    }
    printf("cancelled within %ld us\n", (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000);

    /* Freeing one that runs stops it: the next one gets the thread. */
    portico_render_free(third);
    portico_render_free(second);
    portico_render_free(running);
    CHECK_OK(portico_wait(fourth, -1, &result, &error), error);
    CHECK(portico_result_status(result) == PORTICO_STATUS_RENDERED);
    portico_render_free(fourth);

    /* Freeing the engine stops what runs and what waits. */
    running = endless(engine);
    second = endless(engine);
    CHECK(portico_wait(running, 20, &result, &error) == PORTICO_PENDING);
    portico_engine_free(engine);
    is_cancelled(running);
    is_cancelled(second);
    portico_render_free(running);
    portico_render_free(second);
    return 0;
}
