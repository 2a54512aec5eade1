package kpt

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	kptfilev1 "github.com/kptdev/kpt/pkg/api/kptfile/v1"
	"github.com/kptdev/kpt/pkg/fn"

	"portico.dev/go"
)

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

func TestFunctionsAreFoundAndRun(t *testing.T) {
	everywhere(t, func(t *testing.T, runtime *Runtime) {
		runner, err := runtime.GetRunner(context.Background(), &kptfilev1.Function{Image: "probe.local/echo:v1"})
		if err != nil {
			t.Fatal(err)
		}
		var output bytes.Buffer
		if err := runner.Run(strings.NewReader(list), &output); err != nil || output.String() != list {
			t.Fatalf("%v: %q", err, output.String())
		}
	})
}

func TestTheNextRuntimeGetsWhatThereIsNot(t *testing.T) {
	everywhere(t, func(t *testing.T, runtime *Runtime) {
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
	})
}

func TestAFailureWritesItsListAndTellsItsCode(t *testing.T) {
	everywhere(t, func(t *testing.T, runtime *Runtime) {
		runner, err := runtime.GetRunner(context.Background(), &kptfilev1.Function{Image: "probe.local/fail:v1"})
		if err != nil {
			t.Fatal(err)
		}
		var output bytes.Buffer
		err = runner.Run(strings.NewReader(list), &output)
		var failure *portico.FunctionError
		if !errors.As(err, &failure) || failure.ExitCode != 3 || failure.Cause != "exit" || failure.Stderr != "first\nsecond\n" {
			t.Fatalf("%T: %v", err, err)
		}
		if !strings.Contains(output.String(), "replicas is wrong") {
			t.Fatalf("%q", output.String())
		}
	})
}

// forgetful is asked and closed, and counts both.
type forgetful struct {
	Functions
	asked, closed int
	broken        error
}

func (f *forgetful) Has(context.Context, string) (bool, error) { f.asked++; return false, f.broken }
func (f *forgetful) Close() error                              { f.closed++; return nil }

func TestAnswersAreRememberedAndErrorsAreNot(t *testing.T) {
	functions := &forgetful{broken: errors.New("the line is broken")}
	runtime := NewRuntime(functions)
	ask := func() error {
		_, err := runtime.GetRunner(t.Context(), &kptfilev1.Function{Image: "probe.local/unknown:v1"})
		return err
	}
	if err := ask(); !errors.Is(err, functions.broken) {
		t.Error(err)
	}
	functions.broken = nil
	for range 2 {
		var unknown *fn.NotFoundError
		if err := ask(); !errors.As(err, &unknown) || functions.asked != 2 {
			t.Errorf("%v, %d", err, functions.asked)
		}
	}
	if err := runtime.Close(); err != nil || functions.closed != 1 {
		t.Errorf("%v, %d", err, functions.closed)
	}
}
