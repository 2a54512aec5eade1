package function

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Evaluator runs functions.
type Evaluator interface {
	// Evaluate runs one function on one ResourceList, in YAML. It looks for the function before it looks at the input. A
	// function that does not pass is an [*Error].
	Evaluate(ctx context.Context, image string, resourceList []byte) ([]byte, error)
}

// Has tells whether there is a function for this image. An error means that nobody knows.
func Has(ctx context.Context, evaluator Evaluator, image string) (bool, error) {
	// Nothing is run: of a function that is found, the input is no ResourceList.
	_, err := evaluator.Evaluate(ctx, image, nil)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err == nil || errors.Is(err, ErrNoInput):
		return true, nil
	}
	var failure *Error
	if errors.As(err, &failure) {
		// There is one, and it cannot be used, which is better said when it is to run.
		return true, nil
	}
	return false, err
}

// Runner runs a function in the shape of kpt's FunctionRunner.
type Runner struct {
	evaluator Evaluator
	ctx       context.Context
	image     string
}

// NewRunner is a runner of this image. Its calls have no context of their own: they stop when ctx is done.
func NewRunner(ctx context.Context, evaluator Evaluator, image string) *Runner {
	return &Runner{evaluator: evaluator, ctx: ctx, image: image}
}

// Run reads a ResourceList and writes what the function made of it. Of a function that fails, what it wrote, results
// included, is written too, and the error is an [*Error] with exit code and standard error.
func (r *Runner) Run(reader io.Reader, writer io.Writer) error {
	input, err := io.ReadAll(reader)
	if err != nil {
		return fmt.Errorf("cannot read the input of function %q: %w", r.image, err)
	}
	output, err := r.evaluator.Evaluate(r.ctx, r.image, input)
	var failure *Error
	if errors.As(err, &failure) {
		output = failure.ResourceList
	}
	if _, written := writer.Write(output); written != nil && err == nil {
		return fmt.Errorf("cannot write the output of function %q: %w", r.image, written)
	}
	return err
}
