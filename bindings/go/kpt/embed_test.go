//go:build portico_embed

package kpt

import (
	"os"
	"testing"

	"portico.dev/go/embed"
)

func init() { places["in process"] = inProcess }

// inProcess are the functions of a directory, and those of the catalog; bindings/c/tests/go.rs makes it.
func inProcess(t *testing.T) Functions {
	program, modules := os.Getenv("PORTICO_BIN"), os.Getenv("PORTICO_TEST_MODULES")
	if program == "" || modules == "" {
		t.Fatal("PORTICO_BIN and PORTICO_TEST_MODULES name the program and the modules; the Rust test sets them")
	}
	engine, err := embed.New(embed.Options{Program: program, Compile: true, FunctionDirs: []string{modules}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return engine.Renderer(embed.RenderOptions{})
}
