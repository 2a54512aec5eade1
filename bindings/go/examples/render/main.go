// Render renders the package in a directory on a Portico server and writes what changed:
//
//	go run portico.dev/go/examples/render unix:///run/portico/grpc.sock ./app
package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"portico.dev/go"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: render SERVER DIRECTORY")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := render(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func render(ctx context.Context, server, directory string) error {
	client, err := portico.New(server)
	if err != nil {
		return err
	}
	defer client.Close()
	files := map[string]string{}
	root := os.DirFS(directory)
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		// Links are not followed: they may lead out of the package.
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(root, path)
		files[path] = string(content)
		return err
	})
	if err != nil {
		return err
	}
	result, err := client.Renderer(portico.RenderOptions{Name: filepath.Base(directory)}).Render(ctx, files)
	if err != nil {
		return err
	}
	for _, path := range result.Changed {
		full := filepath.Join(directory, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, []byte(result.Files[path]), 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", path)
	}
	for _, path := range result.Deleted {
		if err := os.Remove(filepath.Join(directory, filepath.FromSlash(path))); err != nil {
			return err
		}
		fmt.Println("deleted", path)
	}
	return result.Err()
}
