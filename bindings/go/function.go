package portico

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"portico.dev/go/evaluatorpb"
	"portico.dev/go/porticopb"
)

// FunctionError is a function that did not pass.
type FunctionError struct {
	// Image is the full image.
	Image string
	// ExitCode is the function's own; 1 when it came to no end of its own.
	ExitCode int
	// Cause is a word for programs: exit, trap, outOfFuel, deadline, memory, badOutput, and others.
	Cause string
	// Message tells why, without standard error.
	Message string
	// Stderr is what the function wrote to standard error.
	Stderr string
	// ResourceList is what it wrote, results included; empty when that cannot be read.
	ResourceList []byte
	// Truncated tells that something was left out of Stderr or ResourceList.
	Truncated bool

	status *status.Status
}

func (e *FunctionError) Error() string { return e.status.Message() }

// GRPCStatus makes status.Code and status.FromError work.
func (e *FunctionError) GRPCStatus() *status.Status { return e.status }

// ErrNotFound is what errors.Is finds in the error of a function that the server does not have.
var ErrNotFound = errors.New("the server does not have this function")

// ErrNoInput is what errors.Is finds in the error of a call whose input is no ResourceList.
var ErrNoInput = errors.New("the input is no ResourceList")

// callError has the words of the server and a kind that errors.Is finds.
type callError struct {
	kind   error
	status *status.Status
}

func (e *callError) Error() string              { return e.status.Message() }
func (e *callError) Unwrap() error              { return e.kind }
func (e *callError) GRPCStatus() *status.Status { return e.status }

// Evaluate runs one function on one ResourceList, in YAML. A function that does not pass is a [*FunctionError].
func (c *Client) Evaluate(ctx context.Context, image string, resourceList []byte) ([]byte, error) {
	response, err := c.evaluate(ctx, image, resourceList)
	if err != nil {
		return nil, err
	}
	return response.GetResourceList(), nil
}

func (c *Client) evaluate(ctx context.Context, image string, list []byte) (*evaluatorpb.EvaluateFunctionResponse, error) {
	pairs := []string{
		"portico-max-details-bytes", strconv.Itoa(c.options.maxDetailsBytes),
		"portico-max-response-bytes", strconv.Itoa(c.options.maxMessageBytes),
	}
	if c.options.namespace != "" {
		pairs = append(pairs, "portico-namespace", c.options.namespace)
	}
	if c.options.stderrResults {
		pairs = append(pairs, "portico-stderr", "results")
	}
	outgoing := metadata.AppendToOutgoingContext(c.Context(ctx), pairs...)
	request := &evaluatorpb.EvaluateFunctionRequest{Image: image, ResourceList: list}
	response, err := c.evaluator.EvaluateFunction(outgoing, request)
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	return response, nil
}

// ended gives the caller's own end before what the server makes of it.
func ended(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// errorOf finds what an error of an evaluation stands for.
func errorOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	status := status.Convert(err)
	for _, detail := range status.Details() {
		if failure, ok := detail.(*porticopb.FunctionFailure); ok {
			return &FunctionError{
				Image:        failure.GetImage(),
				ExitCode:     int(failure.GetExitCode()),
				Cause:        failure.GetCause(),
				Message:      failure.GetError(),
				Stderr:       string(failure.GetStderr()),
				ResourceList: failure.GetResourceList(),
				Truncated:    failure.GetTruncated(),
				status:       status,
			}
		}
	}
	switch status.Code() {
	case codes.NotFound:
		return &callError{kind: ErrNotFound, status: status}
	case codes.InvalidArgument:
		return &callError{kind: ErrNoInput, status: status}
	}
	return err
}

// Has tells whether the server has a function for this image. An error means that nobody knows.
func (c *Client) Has(ctx context.Context, image string) (bool, error) {
	// The server looks for the function before it looks at the input, and finds that there is none.
	_, err := c.evaluate(ctx, image, nil)
	switch {
	case errors.Is(err, ErrNotFound):
		return false, nil
	case err == nil || errors.Is(err, ErrNoInput):
		return true, nil
	}
	var failure *FunctionError
	if errors.As(err, &failure) {
		// It has it, and it cannot be used, which is better said when it is to run.
		return true, nil
	}
	return false, err
}

// Runner runs a function in the shape of kpt's FunctionRunner.
type Runner struct {
	client *Client
	ctx    context.Context
	image  string
}

// Runner is a runner of this image. Its calls have no context of their own: they stop when ctx is done.
func (c *Client) Runner(ctx context.Context, image string) *Runner {
	return &Runner{client: c, ctx: ctx, image: image}
}

// Run reads a ResourceList and writes what the function made of it. Of a function that fails, the ResourceList that it
// wrote, results included, is written too, and the error is a [*FunctionError] with exit code and standard error.
func (r *Runner) Run(reader io.Reader, writer io.Writer) error {
	input, err := io.ReadAll(reader)
	if err != nil {
		return fmt.Errorf("cannot read the input of function %q: %w", r.image, err)
	}
	output, err := r.client.Evaluate(r.ctx, r.image, input)
	var failure *FunctionError
	if errors.As(err, &failure) {
		output = failure.ResourceList
	}
	if _, written := writer.Write(output); written != nil && err == nil {
		return fmt.Errorf("cannot write the output of function %q: %w", r.image, written)
	}
	return err
}
