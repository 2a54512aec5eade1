package function

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// evaluate is an Evaluator that does the same for every image.
type evaluate func(list []byte) ([]byte, error)

func (e evaluate) Evaluate(_ context.Context, _ string, list []byte) ([]byte, error) { return e(list) }

var errBroken = errors.New("the line is broken")

func TestWhatAnEvaluationTellsOfWhetherThereIsAFunction(t *testing.T) {
	for _, c := range []struct {
		err, told error
		has       bool
	}{
		{err: nil, has: true},
		{err: ErrNoInput, has: true},
		{err: fmt.Errorf("it says: %w", ErrNotFound)},
		{err: Failed(Error{Cause: "notFound"}, "", ErrNotFound)},
		{err: Failed(Error{Cause: "notCompiled"}, "", nil), has: true},
		{err: errBroken, told: errBroken},
	} {
		asked := evaluate(func(list []byte) ([]byte, error) {
			if list != nil {
				t.Errorf("asked with %q", list)
			}
			return nil, c.err
		})
		if has, err := Has(t.Context(), asked, "f"); has != c.has || err != c.told {
			t.Errorf("%v: %v, %v", c.err, has, err)
		}
	}
}

func TestARunnerWritesWhatAFunctionThatFailsWrote(t *testing.T) {
	failed := Failed(Error{ExitCode: 3, ResourceList: []byte("results")}, "", nil)
	for _, c := range []struct {
		err    error
		output string
	}{{nil, "made of in"}, {failed, "results"}, {errBroken, ""}} {
		runner := NewRunner(t.Context(), evaluate(func(list []byte) ([]byte, error) {
			if c.err != nil {
				return nil, c.err
			}
			return append([]byte("made of "), list...), nil
		}), "f")
		var output bytes.Buffer
		if err := runner.Run(strings.NewReader("in"), &output); err != c.err || output.String() != c.output {
			t.Errorf("%v: %q, %v", c.err, output.String(), err)
		}
	}
}

// broken can neither be read nor written.
type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestARunnerTellsWhatCannotBeReadOrWritten(t *testing.T) {
	runner := NewRunner(t.Context(), evaluate(func(list []byte) ([]byte, error) { return list, nil }), "f")
	for want, err := range map[string]error{
		`cannot read the input of function "f"`:   runner.Run(broken{}, new(bytes.Buffer)),
		`cannot write the output of function "f"`: runner.Run(strings.NewReader("in"), broken{}),
	} {
		if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	// That the function failed is more than that nobody could read of it.
	failed := Failed(Error{}, "", nil)
	runner = NewRunner(t.Context(), evaluate(func([]byte) ([]byte, error) { return nil, failed }), "f")
	if err := runner.Run(strings.NewReader("in"), broken{}); err != error(failed) {
		t.Errorf("%v", err)
	}
}

func TestTheWordsOfAnError(t *testing.T) {
	failure := Error{Image: "f", Message: "it ended with exit code 3", Stderr: "why"}
	if text := failure.Error(); text != "function \"f\": it ended with exit code 3\nwhy" {
		t.Errorf("%q", text)
	}
	told := Failed(failure, "as told", errBroken)
	if told.Error() != "as told" || !errors.Is(told, errBroken) {
		t.Errorf("%v", told)
	}
}
