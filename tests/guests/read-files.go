// read-files gives its input back and tells on stderr what it finds below /data.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func told(err error) string {
	switch {
	case errors.Is(err, syscall.EROFS):
		return "read-only"
	case errors.Is(err, fs.ErrNotExist):
		return "not there"
	case err != nil:
		return "refused"
	}
	return "done"
}

func run() error {
	say := func(format string, arguments ...any) { fmt.Fprintf(os.Stderr, format+"\n", arguments...) }
	err := filepath.WalkDir("/data", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			say("directory %s", path)
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			say("link %s to %s", path, target)
		default:
			info, err := entry.Info()
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			say("file %s, %d bytes, %d read", path, info.Size(), len(text))
		}
		return nil
	})
	if err != nil {
		return err
	}
	text, err := os.ReadFile("/data/link")
	if err != nil {
		return err
	}
	say("through the link: %s", text)
	entries, err := os.ReadDir("/data/many")
	if err != nil {
		return err
	}
	say("many: %d, the last is %s", len(entries), entries[len(entries)-1].Name())
	file, err := os.Open("/data/a/text")
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(-4, io.SeekEnd); err != nil {
		return err
	}
	tail, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	say("the end: %s", tail)
	say("write: %s", told(os.WriteFile("/data/new", []byte("x"), 0o600)))
	_, err = os.OpenFile("/data/a/text", os.O_RDWR, 0)
	say("open to write: %s", told(err))
	say("mkdir: %s", told(os.Mkdir("/data/new", 0o700)))
	say("rename: %s", told(os.Rename("/data/a", "/data/b")))
	say("remove: %s", told(os.Remove("/data/link")))
	_, err = os.ReadFile("/data/out")
	say("a link that leads out: %s", told(err))
	for _, path := range []string{"/data/../etc/passwd", "/etc/passwd", "../etc/passwd"} {
		if _, err := os.ReadFile(path); err == nil {
			say("%s can be read", path)
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
		os.Exit(1)
	}
}
