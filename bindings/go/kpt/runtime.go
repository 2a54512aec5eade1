// Package kpt runs the functions of kpt's own pipeline in Portico: on a server or in this process.
//
// A [Runtime] is kpt's fn.FunctionRuntime. It is a module of its own, so that programs without kpt do without kpt. It needs
// neither gRPC nor cgo itself: a program has what it brings, a *portico.Client or an *embed.Renderer.
package kpt

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	kptfilev1 "github.com/kptdev/kpt/pkg/api/kptfile/v1"
	"github.com/kptdev/kpt/pkg/fn"

	"portico.dev/go/internal/function"
)

// unknownFor is how long a function that there is not is not asked for again.
const unknownFor = time.Minute

// remembered is how many images a runtime remembers.
const remembered = 1000

// packageContext is kpt's own function, which it runs itself.
const packageContext = "builtins/gen-pkg-context"

// Functions are where a runtime gets them: the *portico.Client of a server, or an *embed.Renderer, which has those of its
// engine. They are used from many goroutines.
type Functions interface {
	// Has tells whether there is a function for this image. An error means that nobody knows.
	Has(ctx context.Context, image string) (bool, error)
	// Evaluate runs one function on one ResourceList, in YAML. A function that does not pass is a *portico.FunctionError,
	// which is an *embed.FunctionError too.
	Evaluate(ctx context.Context, image string, resourceList []byte) ([]byte, error)
}

// Runtime gives kpt a runner for each function that there is. It can be used from many goroutines.
type Runtime struct {
	functions Functions

	mutex sync.Mutex
	// known is until when it is known that there is a function for an image, or none.
	known map[string]answer
}

type answer struct {
	has   bool
	until time.Time
}

var _ fn.FunctionRuntime = (*Runtime)(nil)

// NewRuntime makes a runtime of a *portico.Client, an *embed.Renderer, or of others that do the same.
func NewRuntime(functions Functions) *Runtime {
	return &Runtime{functions: functions, known: map[string]answer{}}
}

// Close closes a *portico.Client, and whatever else of [Functions] has a Close. An *embed.Renderer has none: its engine is
// for whoever made it to close.
func (r *Runtime) Close() error {
	if closer, is := r.functions.(io.Closer); is {
		return closer.Close()
	}
	return nil
}

// GetRunner gives a runner whose calls stop when ctx is done: kpt's runners have no context of their own.
//
// A function that there is not is an fn.NotFoundError, which lets fn.MultiRuntime ask the next one. For commands and for kpt's
// own function there is no runner and no error, which lets kpt run them itself.
//
// Of a function that fails, the runner writes the ResourceList with its results, so that they come into the status of the
// render, and gives a *portico.FunctionError with exit code and standard error.
func (r *Runtime) GetRunner(ctx context.Context, wanted *kptfilev1.Function) (fn.FunctionRunner, error) {
	if wanted.Image == "" || wanted.Image == packageContext {
		return nil, nil
	}
	has, err := r.has(ctx, wanted.Image)
	if err != nil {
		return nil, fmt.Errorf("cannot ask for function %q: %w", wanted.Image, err)
	}
	if !has {
		return nil, &fn.NotFoundError{Function: *wanted}
	}
	return function.NewRunner(ctx, r.functions, wanted.Image), nil
}

func (r *Runtime) has(ctx context.Context, image string) (bool, error) {
	r.mutex.Lock()
	known, found := r.known[image]
	r.mutex.Unlock()
	if found && time.Now().Before(known.until) {
		return known.has, nil
	}
	has, err := r.functions.Has(ctx, image)
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
