//go:build portico_embed

package embed

/*
#include "portico.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"unsafe"
)

// ErrNotFound is what errors.Is finds in the error of a function that there is not.
var ErrNotFound = errors.New("there is no such function")

// FunctionError is a function that did not pass. It has the fields of the client's.
type FunctionError struct {
	// Image is the full image.
	Image string
	// ExitCode is the function's own; 1 when it came to no end of its own.
	ExitCode int
	// Cause is a word for programs: exit, trap, outOfFuel, deadline, memory, badOutput, notFound, and others.
	Cause string
	// Message tells why, without standard error.
	Message string
	// Stderr is what the function wrote to standard error.
	Stderr string
	// ResourceList is what it wrote, whether that can be read or not.
	ResourceList []byte
	// Truncated tells that something was left out of Stderr.
	Truncated bool
}

func (e *FunctionError) Error() string {
	text := fmt.Sprintf("function %q: %s", e.Image, e.Message)
	if e.Stderr != "" {
		text += "\n" + e.Stderr
	}
	return text
}

// Is makes errors.Is find ErrNotFound.
func (e *FunctionError) Is(target error) bool { return target == ErrNotFound && e.Cause == "notFound" }

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
	return nil, &FunctionError{
		Image:        step.Image,
		ExitCode:     step.ExitCode,
		Cause:        step.Cause,
		Message:      text(C.portico_result_message(c)),
		Stderr:       step.Stderr,
		ResourceList: output,
		Truncated:    step.StderrDropped > 0,
	}
}

// Runner runs a function in the shape of kpt's FunctionRunner.
type Runner struct {
	renderer *Renderer
	ctx      context.Context
	image    string
}

// Runner is a runner of this image. Its calls have no context of their own: they stop when ctx is done.
func (r *Renderer) Runner(ctx context.Context, image string) *Runner {
	return &Runner{renderer: r, ctx: ctx, image: image}
}

// Run reads a ResourceList and writes what the function made of it. Of a function that fails, what it wrote is written too,
// and the error is a [*FunctionError] with exit code and standard error.
func (r *Runner) Run(reader io.Reader, writer io.Writer) error {
	input, err := io.ReadAll(reader)
	if err != nil {
		return fmt.Errorf("cannot read the input of function %q: %w", r.image, err)
	}
	output, err := r.renderer.Evaluate(r.ctx, r.image, input)
	var failure *FunctionError
	if errors.As(err, &failure) {
		output = failure.ResourceList
	}
	if _, written := writer.Write(output); written != nil && err == nil {
		return fmt.Errorf("cannot write the output of function %q: %w", r.image, written)
	}
	return err
}
