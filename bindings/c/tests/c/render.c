/* Renders a package and reads all of its result; then everything that can be done wrong without undefined behaviour. */
#include "client.h"

static portico_engine_t *engine_of(const portico_engine_options_t *options) {
    portico_engine_t *engine = NULL;
    portico_error_t *error = NULL;
    CHECK_OK(portico_engine_new(options, &engine, &error), error);
    CHECK(engine != NULL && error == NULL);
    return engine;
}

static portico_render_t *started(portico_engine_t *engine, const portico_file_t *files, size_t count,
                                 const portico_render_options_t *options) {
    portico_render_t *render = NULL;
    portico_error_t *error = NULL;
    CHECK_OK(portico_render(engine, files, count, options, &render, &error), error);
    CHECK(render != NULL && error == NULL);
    return render;
}

static const portico_result_t *ended(portico_render_t *render) {
    const portico_result_t *result = NULL;
    portico_error_t *error = NULL;
    CHECK_OK(portico_wait(render, -1, &result, &error), error);
    CHECK(result != NULL);
    return result;
}

static void passes(portico_engine_t *engine) {
    char path[] = "db/service.yaml", content[sizeof service_text];
    memcpy(content, service_text, sizeof content);
    portico_file_t files[] = {file_of("Kptfile", kptfile_text), file_of(path, content), file_of("README.md", "# shop")};
    portico_render_t *render = started(engine, files, 3, NULL);
    /* What went in was copied. */
    memset(content, 'x', sizeof content - 1);
    memset(path, 'x', sizeof path - 1);
    const portico_result_t *result = ended(render);
    CHECK(portico_result_status(result) == PORTICO_STATUS_RENDERED);
    CHECK(portico_result_message(result).len == 0);
    CHECK(portico_result_failed_step(result) == -1);
    CHECK(portico_result_packages(result) == 1);
    CHECK(portico_result_saved_on_failure(result) == 0);
    CHECK(portico_result_changes(result) == 2);
    portico_change_t change;
    int seen = 0;
    for (size_t at = 0; at < portico_result_changes(result); at++) {
        CHECK(portico_result_change(result, at, &change) == PORTICO_OK);
        CHECK(!change.deleted && change.content.data[change.content.len] == 0);
        if (strcmp(change.path.data, "db/service.yaml") == 0) {
            CHECK(contains(change.content, "kind: Service # the door\n"));
            CHECK(contains(change.content, "namespace: production\n"));
            CHECK(contains(change.content, "tier: web\n"));
            seen += 1;
        } else {
            CHECK(strcmp(change.path.data, "Kptfile") == 0);
            CHECK(contains(change.content, "type: Rendered\n"));
            seen += 10;
        }
    }
    CHECK(seen == 11);
    CHECK(portico_result_change(result, 2, &change) == PORTICO_INVALID_ARGUMENT && change.path.len == 0);
    CHECK(portico_result_steps(result) == 2);
    portico_step_t step = {.struct_size = sizeof step};
    CHECK(portico_result_step(result, 1, &step) == PORTICO_OK);
    CHECK(contains(step.image, "set-labels:v0.2.0") && step.kind == PORTICO_STEP_MUTATOR && step.index == 1);
    CHECK(step.state == PORTICO_STEP_PASSED && step.exit_code == 0 && step.fuel > 0 && step.peak_memory > 0);
    CHECK(step.resources == 2 && step.cause.len == 0 && step.elapsed_nanoseconds > 0);
    CHECK(portico_result_step(result, 2, &step) == PORTICO_INVALID_ARGUMENT);
    CHECK(contains(portico_result_yaml(result), "kind: FunctionResultList\n"));
    for (size_t at = 0; at < portico_result_warnings(result); at++) {
        CHECK(portico_result_warning(result, at).len > 0);
    }
    CHECK(portico_result_warning(result, portico_result_warnings(result)).len == 0);
    /* Again gives the same. */
    CHECK(ended(render) == result);
    /* A cancel after the end changes nothing. */
    portico_cancel(render);
    CHECK(ended(render) == result);
    portico_render_free(render);
}

static void fails(portico_engine_t *engine) {
    portico_file_t files[] = {
        file_of("Kptfile",
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n"
                "  - image: starlark:v0.4.3\n    configPath: fn.yaml\n  - image: set-labels:v0.2.0\n"
                "    configMap: {a: b}\n"),
        file_of("fn.yaml",
                "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: f\n  annotations:\n"
                "    config.kubernetes.io/local-config: 'true'\nsource: |\n  fail('as planned')\n"),
    };
    portico_render_options_t options;
    portico_render_options_init(&options);
    options.record = PORTICO_RECORD_NONE;
    options.root = portico_text("/srv/shop");
    portico_render_t *render = started(engine, files, 2, &options);
    const portico_result_t *result = ended(render);
    CHECK(portico_result_status(result) == PORTICO_STATUS_FUNCTION_FAILED);
    CHECK(contains(portico_result_message(result), "as planned"));
    CHECK(portico_result_failed_step(result) == 0);
    CHECK(portico_result_changes(result) == 0);
    portico_step_t step = {.struct_size = sizeof step};
    CHECK(portico_result_step(result, 0, &step) == PORTICO_OK);
    CHECK(step.state == PORTICO_STEP_FAILED && step.exit_code == 1 && strcmp(step.cause.data, "exit") == 0);
    CHECK(portico_result_step(result, 1, &step) == PORTICO_OK && step.state == PORTICO_STEP_NOT_RUN);
    CHECK(step.resources == -1);
    portico_render_free(render);

    files[0] = file_of("Kptfile",
                       "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n"
                       "  - image: example.com/no-such-function:v1\n");
    render = started(engine, files, 1, NULL);
    result = ended(render);
    CHECK(portico_result_status(result) == PORTICO_STATUS_UNRESOLVED);
    CHECK(portico_result_step(result, 0, &step) == PORTICO_OK && strcmp(step.cause.data, "notFound") == 0);
    portico_render_free(render);
}

/* One function on one ResourceList. */
static void evaluates(portico_engine_t *engine) {
    static const char list[] =
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n  apiVersion: v1\n"
        "  kind: ConfigMap\n  metadata: {name: c}\n  data: {tier: web}\nitems:\n- apiVersion: v1\n  kind: Service\n"
        "  metadata:\n    name: front\n";
    portico_render_t *render = NULL;
    portico_error_t *error = NULL;
    portico_text_t image = portico_text("set-labels:v0.2.0");
    CHECK_OK(portico_evaluate(engine, image, portico_text(list), NULL, &render, &error), error);
    const portico_result_t *result = ended(render);
    CHECK(portico_result_status(result) == PORTICO_STATUS_RENDERED && portico_result_changes(result) == 0);
    CHECK(contains(portico_result_output(result), "kind: ResourceList\n"));
    CHECK(contains(portico_result_output(result), "tier: web\n"));
    portico_step_t step = {.struct_size = sizeof step};
    CHECK(portico_result_steps(result) == 1 && portico_result_step(result, 0, &step) == PORTICO_OK);
    CHECK(contains(step.image, "/set-labels:v0.2.0") && step.state == PORTICO_STEP_PASSED && step.fuel > 0);
    portico_render_free(render);

    /* A function that fails: what it wrote, its exit code, and its words. */
    static const char empty[] = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    CHECK_OK(portico_evaluate(engine, portico_text("starlark"), portico_text(empty), NULL, &render, &error), error);
    result = ended(render);
    CHECK(portico_result_status(result) == PORTICO_STATUS_FUNCTION_FAILED && portico_result_message(result).len > 0);
    CHECK(portico_result_step(result, 0, &step) == PORTICO_OK && step.exit_code == 1);
    CHECK(strcmp(step.cause.data, "exit") == 0 && step.stderr_text.len > 0);
    portico_render_free(render);

    CHECK_OK(portico_evaluate(engine, portico_text("example.com/none"), portico_text(empty), NULL, &render, &error), error);
    result = ended(render);
    CHECK(portico_result_status(result) == PORTICO_STATUS_UNRESOLVED);
    CHECK(portico_result_step(result, 0, &step) == PORTICO_OK && strcmp(step.cause.data, "notFound") == 0);
    portico_render_free(render);

    CHECK_OK(portico_evaluate(engine, image, portico_text("a: b\n"), NULL, &render, &error), error);
    CHECK(portico_wait(render, -1, &result, &error) == PORTICO_INVALID_ARGUMENT);
    CHECK(strstr(portico_error_message(error), "`resource_list`") != NULL);
    portico_error_free(error);
    portico_render_free(render);
    CHECK(portico_evaluate(engine, portico_text(NULL), portico_text(NULL), NULL, NULL, NULL) == PORTICO_INVALID_ARGUMENT);
}

/* A limit is named by the failure that it makes. */
static void is_held_to_limits(portico_engine_t *engine) {
    portico_file_t files[] = {file_of("Kptfile", kptfile_text), file_of("service.yaml", service_text)};
    portico_limit_t limits[] = {{portico_text("stepFuel"), 1000}};
    portico_render_options_t options;
    portico_render_options_init(&options);
    options.limits = limits;
    options.limit_count = 1;
    portico_render_t *render = started(engine, files, 2, &options);
    const portico_result_t *result = ended(render);
    CHECK(portico_result_status(result) == PORTICO_STATUS_FUNCTION_FAILED);
    portico_step_t step = {.struct_size = sizeof step};
    CHECK(portico_result_step(result, 0, &step) == PORTICO_OK && strcmp(step.cause.data, "outOfFuel") == 0);
    portico_render_free(render);
}

/* Fails with this code and with these words in the message; frees the error. */
static void told(int32_t code, int32_t expected, portico_error_t **error, const char *words) {
    if (code != expected || strstr(portico_error_message(*error), words) == NULL) {
        fprintf(stderr, "expected %d with \"%s\", got %d: %s\n", (int)expected, words, (int)code,
                portico_error_message(*error));
        exit(1);
    }
    CHECK(portico_error_code(*error) == code);
    portico_error_free(*error);
}

static void tells_what_is_wrong_with_an_engine(void) {
    portico_engine_t *engine = NULL;
    portico_error_t *error = NULL;
    portico_engine_options_t options;

    told(portico_engine_new(NULL, NULL, &error), PORTICO_INVALID_ARGUMENT, &error, "`engine` is NULL");
    portico_engine_options_init(&options);
    options.abi_version = 77;
    told(portico_engine_new(&options, &engine, &error), PORTICO_ABI_MISMATCH, &error, "version 77");
    CHECK(engine == NULL);
    CHECK(portico_engine_new(&options, &engine, NULL) == PORTICO_ABI_MISMATCH);
    portico_engine_options_init(&options);
    options.struct_size = 8;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "`struct_size` of 8");
    portico_engine_options_init(&options);
    options.compile = 9;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "`options.compile` is 9");
    options.compile = PORTICO_COMPILE_CHILD;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "`options.program` is absent");
    options.program = portico_text("portico");
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "absolute path");
    portico_engine_options_init(&options);
    options.function_count = 1;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "`options.functions` is NULL");
    portico_limit_t limits[] = {{portico_text("memory"), UINT64_MAX}, {portico_text("fule"), 1}};
    portico_engine_options_init(&options);
    options.limits = limits;
    options.limit_count = 2;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "`options.limits[1].name` is `fule`");
    options.limit_count = SIZE_MAX / 2;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "can't have");
    options.limits = (const portico_limit_t *)((const char *)limits + 1);
    options.limit_count = 1;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "not aligned");
    portico_engine_options_init(&options);
    options.workers = 4097;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "`options.workers` is 4097; at most 4096");
    options.workers = 4096;
    options.pool_slots = 16385;
    told(portico_engine_new(&options, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "`options.pool_slots` is 16385");
    /* A program that is newer than the library. */
    struct {
        portico_engine_options_t known;
        uint64_t unknown;
    } newer;
    portico_engine_options_init(&newer.known);
    newer.known.struct_size = sizeof newer;
    newer.unknown = 1;
    told(portico_engine_new(&newer.known, &engine, &error), PORTICO_INVALID_ARGUMENT, &error, "too old");
    newer.unknown = 0;
    CHECK_OK(portico_engine_new(&newer.known, &engine, &error), error);
    portico_engine_free(engine);
}

static void tells_what_is_wrong_with_a_render(portico_engine_t *engine) {
    portico_render_t *render = NULL;
    portico_error_t *error = NULL;
    const portico_result_t *result = NULL;
    portico_file_t files[] = {file_of("Kptfile", kptfile_text), file_of("Kptfile", kptfile_text)};
    portico_render_options_t options;

    told(portico_render(NULL, files, 1, NULL, &render, &error), PORTICO_INVALID_ARGUMENT, &error, "`engine` is NULL");
    told(portico_render(engine, NULL, 1, NULL, &render, &error), PORTICO_INVALID_ARGUMENT, &error, "`files` is NULL");
    told(portico_render(engine, files, 2, NULL, &render, &error), PORTICO_INVALID_ARGUMENT, &error, "came before");
    files[1].path.data = "\xff";
    files[1].path.len = 1;
    told(portico_render(engine, files, 2, NULL, &render, &error), PORTICO_INVALID_ARGUMENT, &error, "`files[1].path` is not UTF-8");
    files[1].path.data = NULL;
    told(portico_render(engine, files, 2, NULL, &render, &error), PORTICO_INVALID_ARGUMENT, &error, "`files[1].path` is NULL");
    portico_render_options_init(&options);
    options.style = 7;
    told(portico_render(engine, files, 1, &options, &render, &error), PORTICO_INVALID_ARGUMENT, &error, "`options.style` is 7");
    portico_render_options_init(&options);
    options.root = portico_text("shop");
    told(portico_render(engine, files, 1, &options, &render, &error), PORTICO_INVALID_ARGUMENT, &error, "begin with `/`");
    CHECK(render == NULL);
    told(portico_wait(NULL, 0, &result, &error), PORTICO_INVALID_ARGUMENT, &error, "`render` is NULL");

    /* What only the render finds. */
    files[1] = file_of("../escape.yaml", "a: b\n");
    render = started(engine, files, 2, NULL);
    told(portico_wait(render, -1, &result, &error), PORTICO_PACKAGE, &error, "../escape.yaml");
    CHECK(result == NULL);
    portico_render_free(render);
    files[0] = file_of("other.yaml", "a: b\n");
    render = started(engine, files, 1, NULL);
    told(portico_wait(render, -1, &result, &error), PORTICO_PACKAGE, &error, "no Kptfile");
    portico_render_free(render);
    render = started(engine, NULL, 0, NULL);
    told(portico_wait(render, -1, &result, &error), PORTICO_PACKAGE, &error, "no Kptfile");
    portico_render_free(render);
}

static void takes_null(void) {
    portico_engine_free(NULL);
    portico_render_free(NULL);
    portico_error_free(NULL);
    portico_cancel(NULL);
    CHECK(portico_error_code(NULL) == PORTICO_OK);
    CHECK(portico_error_message(NULL)[0] == 0);
    CHECK(portico_result_status(NULL) == PORTICO_STATUS_BAD_PACKAGE);
    CHECK(portico_result_message(NULL).data[0] == 0);
    CHECK(portico_result_changes(NULL) == 0 && portico_result_steps(NULL) == 0 && portico_result_packages(NULL) == 0);
    CHECK(portico_result_change(NULL, 0, NULL) == PORTICO_INVALID_ARGUMENT);
    CHECK(portico_result_step(NULL, 0, NULL) == PORTICO_INVALID_ARGUMENT);
    CHECK(portico_result_output(NULL).len == 0);
    CHECK(portico_result_yaml(NULL).len == 0 && portico_result_warning(NULL, 0).len == 0);
    portico_step_t step = {.struct_size = 1};
    CHECK(portico_result_step(NULL, 0, &step) == PORTICO_INVALID_ARGUMENT);
}

/* An engine may be freed while its renders are still there. */
static void outlives_its_engine(void) {
    portico_file_t files[] = {file_of("Kptfile", kptfile_text)};
    portico_engine_options_t options;
    portico_engine_options_init(&options);
    options.workers = 1;
    portico_engine_t *engine = engine_of(&options);
    portico_render_t *done = started(engine, files, 1, NULL), *late[5];
    CHECK(portico_result_status(ended(done)) == PORTICO_STATUS_RENDERED);
    for (int at = 0; at < 5; at++) {
        late[at] = started(engine, files, 1, NULL);
    }
    portico_engine_free(engine);
    CHECK(portico_result_status(ended(done)) == PORTICO_STATUS_RENDERED);
    portico_render_free(done);
    for (int at = 0; at < 5; at++) {
        const portico_result_t *result = NULL;
        int32_t code = portico_wait(late[at], 0, &result, NULL);
        CHECK(code == PORTICO_CANCELLED || code == PORTICO_OK);
        portico_render_free(late[at]);
    }
}

int main(void) {
    CHECK(portico_abi_version() == PORTICO_ABI_VERSION);
    CHECK(strlen(portico_version()) > 0);
    takes_null();
    tells_what_is_wrong_with_an_engine();
    portico_engine_t *engine = engine_of(NULL);
    passes(engine);
    fails(engine);
    is_held_to_limits(engine);
    evaluates(engine);
    tells_what_is_wrong_with_a_render(engine);
    portico_engine_free(engine);
    outlives_its_engine();
    printf("ok\n");
    return 0;
}
