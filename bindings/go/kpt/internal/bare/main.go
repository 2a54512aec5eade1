// Bare makes a go.mod for a build with kpt as it is but for the functions of the catalog that its package of renderers brings:
// they need a module that is not to be had everywhere, and the tests of this module need none of them.
//
//	go run ./internal/bare DIRECTORY
//	go test -modfile=DIRECTORY/go.mod -tags kpt_renderer ./...
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const kpt = "github.com/kptdev/kpt"

// functions is the folder of kpt that is left out, and nobody what stands in its place.
const (
	functions = "internal/kptops"
	nobody    = `package kptops

import "sigs.k8s.io/kustomize/kyaml/fn/framework"

func FindProcessor(string) framework.ResourceListProcessorFunc { return nil }
`
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: bare DIRECTORY")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// write writes go.mod, go.sum and a copy of kpt into a directory.
func write(directory string) error {
	directory, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	module, err := command("list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	if _, err := command("mod", "download", kpt); err != nil {
		return err
	}
	from, err := command("list", "-m", "-f", "{{.Dir}}", kpt)
	if err != nil {
		return err
	}
	to := filepath.Join(directory, "kpt")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	emptied := filepath.Join(to, functions)
	if err := os.RemoveAll(emptied); err != nil {
		return err
	}
	if err := os.Mkdir(emptied, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(emptied, "functions.go"), []byte(nobody), 0o666); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o666); err != nil {
			return err
		}
	}
	// The one of the module is relative to it.
	ours := "portico.dev/go=" + filepath.Dir(module)
	_, err = command("mod", "edit", "-replace="+ours, "-replace="+kpt+"="+to, filepath.Join(directory, "go.mod"))
	return err
}

// command runs the go command and gives what it prints.
func command(arguments ...string) (string, error) {
	run := exec.Command("go", arguments...)
	run.Stderr = os.Stderr
	output, err := run.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run `go %s`: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
