//go:build portico_embed

package embed

/*
#include "portico.h"
*/
import "C"

import (
	"context"
	"runtime"
	"unsafe"

	"portico.dev/go/internal/function"
)

// FunctionError is a function that did not pass, here or in the client.
type FunctionError = function.Error

// Runner runs a function in the shape of kpt's FunctionRunner, here or in the client.
type Runner = function.Runner

var (
	// ErrNotFound is what errors.Is finds in the error of a function that there is not.
	ErrNotFound = function.ErrNotFound
	// ErrNoInput is what errors.Is finds in the error of a call whose input is no ResourceList.
	ErrNoInput = function.ErrNoInput
)

// Evaluate runs one function on one ResourceList, in YAML. A function that does not pass is a [*FunctionError]. Of the
// options only Limits, ImagePrefix and Tenant mean something.
func (r *Renderer) Evaluate(ctx context.Context, image string, resourceList []byte) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	render, err := r.engine.start(&r.options, func(_ *memory, pinner *runtime.Pinner, options *C.portico_render_options_t,
		render **C.portico_render_t, failure **C.portico_error_t) C.int32_t {
		list := pinned(pinner, unsafe.String(unsafe.SliceData(resourceList), len(resourceList)))
		return C.portico_evaluate(r.engine.engine, pinned(pinner, image), list, options, render, failure)
	})
	if err != nil {
		return nil, err
	}
	defer C.portico_render_free(render)
	c, err := ended(ctx, render)
	if err != nil {
		return nil, err
	}
	output := []byte(text(C.portico_result_output(c)))
	if C.portico_result_status(c) == C.PORTICO_STATUS_RENDERED {
		return output, nil
	}
	step := stepOf(c, 0)
	var cause error
	if C.portico_result_status(c) == C.PORTICO_STATUS_UNRESOLVED && step.Cause == "notFound" {
		cause = ErrNotFound
	}
	return nil, function.Failed(FunctionError{
		Image:        step.Image,
		ExitCode:     step.ExitCode,
		Cause:        step.Cause,
		Message:      text(C.portico_result_message(c)),
		Stderr:       step.Stderr,
		ResourceList: output,
		Truncated:    step.StderrDropped > 0,
	}, "", cause)
}

// Has tells whether there is a function for this image. An error means that nobody knows.
func (r *Renderer) Has(ctx context.Context, image string) (bool, error) {
	return function.Has(ctx, r, image)
}

// Runner is a runner of this image. Its calls have no context of their own: they stop when ctx is done.
func (r *Renderer) Runner(ctx context.Context, image string) *Runner {
	return function.NewRunner(ctx, r, image)
}
