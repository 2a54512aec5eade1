package kpt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	kptfilev1 "github.com/kptdev/kpt/pkg/api/kptfile/v1"
	"github.com/kptdev/kpt/pkg/fn"

	"portico.dev/go"
)

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

func runtime(t *testing.T) *Runtime {
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
	return runtime
}

func TestFunctionsAreFoundAndRun(t *testing.T) {
	runner, err := runtime(t).GetRunner(context.Background(), &kptfilev1.Function{Image: "probe.local/echo:v1"})
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	if err := runner.Run(strings.NewReader(list), &output); err != nil || output.String() != list {
		t.Fatalf("%v: %q", err, output.String())
	}
}

func TestTheNextRuntimeGetsWhatTheServerDoesNotHave(t *testing.T) {
	runtime := runtime(t)
	for range 2 {
		_, err := runtime.GetRunner(context.Background(), &kptfilev1.Function{Image: "probe.local/unknown:v1"})
		var unknown *fn.NotFoundError
		if !errors.As(err, &unknown) || unknown.Function.Image != "probe.local/unknown:v1" {
			t.Fatalf("%T: %v", err, err)
		}
	}
	for _, own := range []kptfilev1.Function{{Exec: "true"}, {Image: packageContext}} {
		if runner, err := runtime.GetRunner(context.Background(), &own); runner != nil || err != nil {
			t.Fatalf("%v, %v", runner, err)
		}
	}
}

func TestAFailureWritesItsListAndTellsItsCode(t *testing.T) {
	runner, err := runtime(t).GetRunner(context.Background(), &kptfilev1.Function{Image: "probe.local/fail:v1"})
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	err = runner.Run(strings.NewReader(list), &output)
	var failure *portico.FunctionError
	if !errors.As(err, &failure) || failure.ExitCode != 3 {
		t.Fatalf("%T: %v", err, err)
	}
	if !strings.Contains(output.String(), "replicas is wrong") {
		t.Fatalf("%q", output.String())
	}
}
