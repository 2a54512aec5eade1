//go:build kpt_renderer

// kpt's own renderer with our runtime. Its package needs a module of functions that is not to be had everywhere: without it,
// internal/bare makes a go.mod for a build without those functions.
package kpt

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kptdev/kpt/pkg/fn"
	"github.com/kptdev/kpt/pkg/lib/kptops"
	"github.com/kptdev/kpt/pkg/lib/runneroptions"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"portico.dev/go"
)

func render(t *testing.T, runtime *Runtime, functions ...string) (filesys.FileSystem, error) {
	t.Helper()
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n"
	for _, function := range functions {
		kptfile += "  - image: probe.local/" + function + ":v1\n"
	}
	files := filesys.MakeFsInMemory()
	for path, content := range map[string]string{
		"Kptfile": kptfile,
		"a.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # mine\n",
	} {
		if err := files.WriteFile("/app/"+path, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	var options runneroptions.RunnerOptions
	options.InitDefaults(runneroptions.GHCRImagePrefix)
	renderer := kptops.NewRenderer(options)
	_, err := renderer.Render(context.Background(), files, fn.RenderOptions{PkgPath: "/app", Runtime: runtime})
	return files, err
}

func TestKptRendersWithOurFunctions(t *testing.T) {
	everywhere(t, func(t *testing.T, runtime *Runtime) {
		files, err := render(t, runtime, "echo", "chatty")
		if err != nil {
			t.Fatal(err)
		}
		content, err := files.ReadFile("/app/a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if want := "name: a # mine"; !strings.Contains(string(content), want) {
			t.Fatalf("%q is not in\n%s", want, content)
		}
	})
}

func TestKptTellsOfAFunctionThatFails(t *testing.T) {
	everywhere(t, func(t *testing.T, runtime *Runtime) {
		_, err := render(t, runtime, "fail")
		var failure *portico.FunctionError
		if !errors.As(err, &failure) {
			t.Fatalf("%T: %v", err, err)
		}
		if failure.ExitCode != 3 || failure.Stderr != "first\nsecond\n" {
			t.Fatalf("%+v", failure)
		}
	})
}

func TestKptTellsOfAFunctionThatNobodyHas(t *testing.T) {
	everywhere(t, func(t *testing.T, runtime *Runtime) {
		_, err := render(t, runtime, "unknown")
		var unknown *fn.NotFoundError
		if !errors.As(err, &unknown) {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
