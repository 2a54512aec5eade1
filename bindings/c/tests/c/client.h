/* What the C programs of the tests share: a package, checks that say where they failed. */
#ifndef PORTICO_TEST_CLIENT_H
#define PORTICO_TEST_CLIENT_H

#include "portico.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);     \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/* Fails with the words of the error. */
#define CHECK_OK(call, error)                                                             \
    do {                                                                                  \
        int32_t code_ = (call);                                                           \
        if (code_ != PORTICO_OK) {                                                        \
            fprintf(stderr, "%s:%d: %s: %d: %s\n", __FILE__, __LINE__, #call, (int)code_, \
                    portico_error_message(error));                                        \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

static const char kptfile_text[] =
    "apiVersion: kpt.dev/v1\n"
    "kind: Kptfile\n"
    "metadata:\n"
    "  name: shop\n"
    "pipeline:\n"
    "  mutators:\n"
    "  - image: set-namespace:v0.4.1\n"
    "    configMap:\n"
    "      namespace: production\n"
    "  - image: set-labels:v0.2.0\n"
    "    configMap:\n"
    "      tier: web\n";

static const char service_text[] =
    "apiVersion: v1\n"
    "kind: Service # the door\n"
    "metadata:\n"
    "  name: front\n"
    "spec:\n"
    "  ports:\n"
    "  - port: 80\n";

static inline portico_file_t file_of(const char *path, const char *content) {
    portico_file_t file = {portico_text(path), portico_text(content)};
    return file;
}

static inline int contains(portico_text_t text, const char *part) {
    return strstr(text.data, part) != NULL;
}

#endif
