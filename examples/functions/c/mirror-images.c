/* mirror-images rewrites the registry of container images: `image: docker.io/nginx` becomes
 * `image: MIRROR/nginx`.
 *
 * A function in plain C: a ResourceList comes on stdin, a ResourceList goes to stdout. It works on lines,
 * which is enough for a field that stands on a line of its own; a field inside `{...}` is left as it is.
 * Configuration (`configMap`): `from`, the registry to replace, and `to`, what to put in its place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *after(const char *text, const char *prefix) {
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static size_t indent_of(const char *line) {
    return strspn(line, " ");
}

/* All of stdin, with a zero at the end. */
static char *read_all(void) {
    size_t size = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text != NULL) {
        size_t got = fread(text + size, 1, room - size - 1, stdin);
        size += got;
        if (got == 0) {
            text[size] = '\0';
            break;
        }
        if (room - size < 1 << 12) {
            char *more = realloc(text, room *= 2);
            if (more == NULL) free(text);
            text = more;
        }
    }
    return text;
}

/* A value of `functionConfig.data`, without quotes; empty when there is none. */
static void setting(const char *text, const char *key, char *value, size_t room) {
    const char *line = strstr(text, "\nfunctionConfig:\n");
    int in_data = 0;
    value[0] = '\0';
    for (line = line == NULL ? NULL : strchr(line + 1, '\n'); line != NULL; line = strchr(line, '\n')) {
        size_t indent = indent_of(++line);
        if (indent == 0) return;
        if (indent == 2) in_data = after(line + 2, "data:\n") != NULL;
        const char *found = in_data && indent == 4 ? after(line + 4, key) : NULL;
        found = found == NULL ? NULL : after(found, ": ");
        if (found != NULL) {
            found += strspn(found, "\"'");
            size_t length = strcspn(found, "\"'\n ");
            if (length >= room) length = room - 1;
            memcpy(value, found, length);
            value[length] = '\0';
            return;
        }
    }
}

int main(void) {
    char *text = read_all();
    if (text == NULL) {
        fputs("mirror-images: out of memory\n", stderr);
        return 1;
    }
    char from[256], to[256];
    setting(text, "from", from, sizeof from);
    setting(text, "to", to, sizeof to);
    if (from[0] == '\0' || to[0] == '\0') {
        fputs("mirror-images: set `from` and `to` in the function's configMap\n", stderr);
        return 1;
    }
    for (char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *image = line + indent_of(line);
        if (after(image, "- ") != NULL) image += 2;
        image = after(image, "image: ");
        const char *rest = image == NULL ? NULL : after(image, from);
        if (rest != NULL && *rest == '/') {
            fwrite(line, 1, (size_t)(image - line), stdout);
            fputs(to, stdout);
            fwrite(rest, 1, (size_t)(line + length - rest), stdout);
        } else {
            fwrite(line, 1, length, stdout);
        }
        line += length;
        if (*line == '\n') {
            putchar('\n');
            line++;
        }
    }
    free(text);
    return fflush(stdout) == 0 ? 0 : 1;
}
