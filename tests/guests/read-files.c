/* read-files gives its input back and tells on stderr what it finds below /data. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static const char *told(int failed) {
    if (!failed) return "done";
    return errno == EROFS ? "read-only" : errno == ENOENT ? "not there" : "refused";
}

/* Reads a file as a whole; answers its length. */
static size_t slurp(const char *path, char *text, size_t room) {
    FILE *file = fopen(path, "r");
    check(file != NULL, path);
    size_t length = fread(text, 1, room - 1, file);
    check(!ferror(file), path);
    text[length] = '\0';
    fclose(file);
    return length;
}

static void walk(const char *path) {
    fprintf(stderr, "directory %s\n", path);
    DIR *directory = opendir(path);
    check(directory != NULL, path);
    struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        char below[4096], text[4096];
        struct stat stat;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        check(lstat(below, &stat) == 0, below);
        if (S_ISDIR(stat.st_mode)) {
            walk(below);
        } else if (S_ISLNK(stat.st_mode)) {
            ssize_t length = readlink(below, text, sizeof text);
            check(length >= 0, below);
            fprintf(stderr, "link %s to %.*s\n", below, (int)length, text);
        } else {
            size_t length = slurp(below, text, sizeof text);
            fprintf(stderr, "file %s, %d bytes, %d read\n", below, (int)stat.st_size, (int)length);
        }
    }
    closedir(directory);
}

int main(void) {
    char text[4096], last[256] = "";
    int count = 0;
    walk("/data");
    slurp("/data/link", text, sizeof text);
    fprintf(stderr, "through the link: %s\n", text);

    DIR *many = opendir("/data/many");
    check(many != NULL, "/data/many");
    for (struct dirent *entry = readdir(many); entry != NULL; entry = readdir(many)) {
        if (entry->d_name[0] == '.') continue;
        count++;
        snprintf(last, sizeof last, "%s", entry->d_name);
    }
    closedir(many);
    fprintf(stderr, "many: %d, the last is %s\n", count, last);

    FILE *file = fopen("/data/a/text", "r");
    check(file != NULL, "/data/a/text");
    check(fseek(file, -4, SEEK_END) == 0, "fseek");
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    fprintf(stderr, "the end: %s\n", text);

    fprintf(stderr, "write: %s\n", told(fopen("/data/new", "w") == NULL));
    fprintf(stderr, "open to write: %s\n", told(fopen("/data/a/text", "r+") == NULL));
    fprintf(stderr, "mkdir: %s\n", told(mkdir("/data/new", 0700)));
    fprintf(stderr, "rename: %s\n", told(rename("/data/a", "/data/b")));
    fprintf(stderr, "remove: %s\n", told(unlink("/data/link")));
    fprintf(stderr, "a link that leads out: %s\n", told(fopen("/data/out", "r") == NULL));
    const char *outside[] = {"/data/../etc/passwd", "/etc/passwd", "../etc/passwd"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (fopen(outside[i], "r") != NULL) fprintf(stderr, "%s can be read\n", outside[i]);

    /* A file can take the place of stdin, which the rest of the program reads. */
    size_t length;
    while ((length = fread(text, 1, sizeof text, stdin)) > 0) fwrite(text, 1, length, stdout);
    check(freopen("/data/a/text", "r", stdin) != NULL, "freopen");
    length = fread(text, 1, sizeof text, stdin);
    if (length != 9) fprintf(stderr, "freopen: %d bytes\n", (int)length);
    return 0;
}
