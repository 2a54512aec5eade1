//go:build kpt_renderer

// kpt's own renderer with our runtime. Its package needs a module of functions that is not to be had everywhere; the test in
// server/tests/go_clients.rs builds it without those functions.
package kpt

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/kptdev/kpt/pkg/fn"
	"github.com/kptdev/kpt/pkg/lib/kptops"
	"github.com/kptdev/kpt/pkg/lib/runneroptions"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"portico.dev/go"
)

func render(t *testing.T, functions ...string) (filesys.FileSystem, error) {
	t.Helper()
	address := os.Getenv("PORTICO_GRPC")
	if address == "" {
		t.Skip("PORTICO_GRPC is not set")
	}
	client, err := portico.New(address)
	if err != nil {
		t.Fatal(err)
	}
	runtime := NewRuntime(client)
	t.Cleanup(func() { runtime.Close() })

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
	_, err = renderer.Render(context.Background(), files, fn.RenderOptions{PkgPath: "/app", Runtime: runtime})
	return files, err
}

func TestKptRendersWithOurFunctions(t *testing.T) {
	files, err := render(t, "echo", "chatty")
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
}

func TestKptTellsOfAFunctionThatFails(t *testing.T) {
	_, err := render(t, "fail")
	var failure *portico.FunctionError
	if !errors.As(err, &failure) {
		t.Fatalf("%T: %v", err, err)
	}
	if failure.ExitCode != 3 || failure.Stderr != "first\nsecond\n" {
		t.Fatalf("%+v", failure)
	}
}

func TestKptTellsOfAFunctionThatNobodyHas(t *testing.T) {
	_, err := render(t, "unknown")
	var unknown *fn.NotFoundError
	if !errors.As(err, &unknown) {
		t.Fatalf("%T: %v", err, err)
	}
}
