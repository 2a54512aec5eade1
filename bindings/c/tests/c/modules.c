/*
 * Modules of one's own: forbidden, compiled by a child, out of the cache, in isolation; and those that crash.
 *
 *     modules PORTICO MODULES CACHE
 */
#include "client.h"

static const char *program, *modules, *cache;

static portico_engine_t *engine_of(uint32_t compile, const char *cached, uint32_t isolate) {
    portico_text_t directories[] = {portico_text(modules)};
    portico_engine_options_t options;
    portico_engine_options_init(&options);
    options.compile = compile;
    options.isolate = isolate;
    options.cache_dir = portico_text(cached);
    options.function_dirs = directories;
    options.function_dir_count = 1;
    if (compile == PORTICO_COMPILE_CHILD || isolate) {
        options.program = portico_text(program);
    }
    portico_engine_t *engine = NULL;
    portico_error_t *error = NULL;
    CHECK_OK(portico_engine_new(&options, &engine, &error), error);
    return engine;
}

/* The status, and the cause of the first step. */
static void runs(portico_engine_t *engine, const char *image, int32_t status, const char *cause) {
    char kptfile[512];
    snprintf(kptfile, sizeof kptfile,
             "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n  - image: %s\n",
             image);
    portico_file_t files[] = {file_of("Kptfile", kptfile), file_of("service.yaml", service_text)};
    portico_render_t *render = NULL;
    portico_error_t *error = NULL;
    const portico_result_t *result = NULL;
    CHECK_OK(portico_render(engine, files, 2, NULL, &render, &error), error);
    CHECK_OK(portico_wait(render, -1, &result, &error), error);
    portico_step_t step = {.struct_size = sizeof step};
    CHECK(portico_result_step(result, 0, &step) == PORTICO_OK);
    if (portico_result_status(result) != status || strcmp(step.cause.data, cause) != 0) {
        fprintf(stderr, "%s: status %d, cause `%s`: %s\n", image, (int)portico_result_status(result), step.cause.data,
                portico_result_message(result).data);
        exit(1);
    }
    portico_render_free(render);
}

int main(int argc, char **argv) {
    CHECK(argc == 4);
    program = argv[1];
    modules = argv[2];
    cache = argv[3];

    portico_engine_t *engine = engine_of(PORTICO_COMPILE_FORBIDDEN, NULL, 0);
    runs(engine, "example.com/echo:v1", PORTICO_STATUS_UNRESOLVED, "notCompiled");
    runs(engine, "set-namespace:v0.4.1", PORTICO_STATUS_FUNCTION_FAILED, "exit");
    portico_engine_free(engine);

    static const char *const crashes[] = {"load", "unreachable", "divide", "recurse"};
    engine = engine_of(PORTICO_COMPILE_CHILD, cache, 0);
    for (int round = 0; round < 3; round++) {
        for (int at = 0; at < 4; at++) {
            runs(engine, crashes[at], PORTICO_STATUS_FUNCTION_FAILED, "trap");
            runs(engine, "example.com/echo:v1", PORTICO_STATUS_RENDERED, "");
        }
    }
    portico_engine_free(engine);

    engine = engine_of(PORTICO_COMPILE_FORBIDDEN, cache, 0);
    runs(engine, "example.com/echo:v1", PORTICO_STATUS_RENDERED, "");
    portico_engine_free(engine);

    engine = engine_of(PORTICO_COMPILE_FORBIDDEN, cache, 1);
    runs(engine, "example.com/echo:v1", PORTICO_STATUS_RENDERED, "");
    runs(engine, "load", PORTICO_STATUS_FUNCTION_FAILED, "trap");
    portico_engine_free(engine);
    return 0;
}
