/*
 * Many renders on many threads, of all kinds, and the memory of the process before and after.
 *
 *     load RENDERS THREADS
 */
#include "client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* What may be more at the end than after the first fifth: arenas of the allocator, not anything that adds up. */
#define GROWTH_BYTES (8L << 20)

static portico_engine_t *engine;
static atomic_long left;
static atomic_long by_kind[4];

static const char failing[] =
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n"
    "  - image: example.com/unknown:v1\n";

static void one(long number) {
    portico_file_t files[] = {file_of("Kptfile", kptfile_text), file_of("service.yaml", service_text)};
    portico_limit_t limits[] = {{portico_text("stepFuel"), 1000}};
    portico_render_options_t options;
    portico_render_options_init(&options);
    int kind = number % 10 < 7 ? 0 : number % 10 - 6;
    if (kind == 1) {
        files[0] = file_of("Kptfile", failing);
    } else if (kind == 2) {
        options.limits = limits;
        options.limit_count = 1;
    }
    portico_render_t *render = NULL;
    portico_error_t *error = NULL;
    CHECK_OK(portico_render(engine, files, 2, &options, &render, &error), error);
    if (kind == 3) {
        /* Cancelled at some time in its life, perhaps after it, and never waited for. */
        if (number % 4 < 2) {
            portico_cancel(render);
        }
    } else {
        const portico_result_t *result = NULL;
        CHECK_OK(portico_wait(render, -1, &result, &error), error);
        static const int32_t status[] = {PORTICO_STATUS_RENDERED, PORTICO_STATUS_UNRESOLVED,
                                         PORTICO_STATUS_FUNCTION_FAILED};
        CHECK(portico_result_status(result) == status[kind]);
        CHECK(portico_result_changes(result) == (kind == 0 ? 2 : 1));
    }
    portico_render_free(render);
    by_kind[kind]++;
}

static void *work(void *unused) {
    for (;;) {
        long number = atomic_fetch_sub(&left, 1);
        if (number <= 0) {
            return unused;
        }
        one(number);
    }
}

static void all(long renders, int threads) {
    pthread_t started[64];
    left = renders;
    for (int at = 0; at < threads; at++) {
        CHECK(pthread_create(&started[at], NULL, work, NULL) == 0);
    }
    for (int at = 0; at < threads; at++) {
        CHECK(pthread_join(started[at], NULL) == 0);
    }
}

static long resident(void) {
    long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &total, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    long renders = atol(argv[1]);
    int threads = atoi(argv[2]);
    CHECK(renders >= 10 && threads >= 1 && threads <= 64);
    portico_engine_options_t options;
    portico_engine_options_init(&options);
    options.pool_slots = 8;
    portico_error_t *error = NULL;
    CHECK_OK(portico_engine_new(&options, &engine, &error), error);
    all(renders / 5, threads);
    long before = resident();
    all(renders - renders / 5, threads);
    long after = resident();
    portico_engine_free(engine);
    printf("%ld renders (%ld passed, %ld unresolved, %ld out of fuel, %ld given up): %ld KiB, then %ld KiB\n", renders,
           by_kind[0], by_kind[1], by_kind[2], by_kind[3], before >> 10, after >> 10);
    CHECK(by_kind[0] > 0 && by_kind[1] > 0 && by_kind[2] > 0 && by_kind[3] > 0);
    CHECK(after - before < GROWTH_BYTES);
    return 0;
}
