// Package kpt runs the functions of kpt's own pipeline on a Portico server.
//
// A [Runtime] is kpt's fn.FunctionRuntime. It is a module of its own, so that programs without kpt do without kpt.
package kpt

import (
	"context"
	"fmt"
	"sync"
	"time"

	kptfilev1 "github.com/kptdev/kpt/pkg/api/kptfile/v1"
	"github.com/kptdev/kpt/pkg/fn"

	"portico.dev/go"
)

// unknownFor is how long a function that the server does not have is not asked for again.
const unknownFor = time.Minute

// remembered is how many images a runtime remembers.
const remembered = 1000

// packageContext is kpt's own function, which it runs itself.
const packageContext = "builtins/gen-pkg-context"

// Runtime gives kpt a runner for each function that a Portico server has. It can be used from many goroutines.
type Runtime struct {
	client *portico.Client

	mutex sync.Mutex
	// known is until when it is known that the server has an image, or has it not.
	known map[string]answer
}

type answer struct {
	has   bool
	until time.Time
}

var _ fn.FunctionRuntime = (*Runtime)(nil)

// NewRuntime makes a runtime. Closing it closes the client.
func NewRuntime(client *portico.Client) *Runtime {
	return &Runtime{client: client, known: map[string]answer{}}
}

// Close closes the client.
func (r *Runtime) Close() error { return r.client.Close() }

// GetRunner gives a runner whose calls stop when ctx is done: kpt's runners have no context of their own.
//
// A function that the server does not have is an fn.NotFoundError, which lets fn.MultiRuntime ask the next one. For commands
// and for kpt's own function there is no runner and no error, which lets kpt run them itself.
//
// Of a function that fails, the runner writes the ResourceList with its results, so that they come into the status of the
// render, and gives a [*portico.FunctionError] with exit code and standard error.
func (r *Runtime) GetRunner(ctx context.Context, function *kptfilev1.Function) (fn.FunctionRunner, error) {
	if function.Image == "" || function.Image == packageContext {
		return nil, nil
	}
	has, err := r.has(ctx, function.Image)
	if err != nil {
		return nil, fmt.Errorf("cannot ask for function %q: %w", function.Image, err)
	}
	if !has {
		return nil, &fn.NotFoundError{Function: *function}
	}
	return r.client.Runner(ctx, function.Image), nil
}

func (r *Runtime) has(ctx context.Context, image string) (bool, error) {
	r.mutex.Lock()
	known, found := r.known[image]
	r.mutex.Unlock()
	if found && time.Now().Before(known.until) {
		return known.has, nil
	}
	has, err := r.client.Has(ctx, image)
	if err != nil {
		return false, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.known) >= remembered {
		clear(r.known)
	}
	r.known[image] = answer{has: has, until: time.Now().Add(unknownFor)}
	return has, nil
}
