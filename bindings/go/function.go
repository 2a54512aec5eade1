package portico

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"portico.dev/go/evaluatorpb"
	"portico.dev/go/internal/function"
	"portico.dev/go/porticopb"
)

// FunctionError is a function that did not pass, here or in package embed. Over gRPC, status.Code and status.FromError work
// on it.
type FunctionError = function.Error

// Runner runs a function in the shape of kpt's FunctionRunner, here or in package embed.
type Runner = function.Runner

var (
	// ErrNotFound is what errors.Is finds in the error of a function that the server does not have.
	ErrNotFound = function.ErrNotFound
	// ErrNoInput is what errors.Is finds in the error of a call whose input is no ResourceList.
	ErrNoInput = function.ErrNoInput
)

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
	request := &evaluatorpb.EvaluateFunctionRequest{Image: image, ResourceList: resourceList}
	response, err := c.evaluator.EvaluateFunction(outgoing, request)
	if err != nil {
		return nil, errorOf(ctx, err)
	}
	return response.GetResourceList(), nil
}

// ended gives the caller's own end before what the server makes of it.
func ended(ctx context.Context, err error) error {
	if cause := over(ctx); cause != nil {
		return cause
	}
	return err
}

// over is why a context is done, if it is.
func over(ctx context.Context) error {
	if deadline, has := ctx.Deadline(); has && !time.Now().Before(deadline) {
		// The server keeps the same time, and its word of that may be here before this side's timer has run.
		<-ctx.Done()
	}
	return context.Cause(ctx)
}

// errorOf finds what an error of an evaluation stands for.
func errorOf(ctx context.Context, err error) error {
	if cause := over(ctx); cause != nil {
		return cause
	}
	status := status.Convert(err)
	for _, detail := range status.Details() {
		switch failure := detail.(type) {
		case *errdetails.BadRequest:
			for _, violation := range failure.GetFieldViolations() {
				if violation.GetField() == "resource_list" {
					return &callError{kind: ErrNoInput, status: status}
				}
			}
		case *porticopb.FunctionFailure:
			return function.Failed(FunctionError{
				Image:        failure.GetImage(),
				ExitCode:     int(failure.GetExitCode()),
				Cause:        failure.GetCause(),
				Message:      failure.GetError(),
				Stderr:       string(failure.GetStderr()),
				ResourceList: failure.GetResourceList(),
				Truncated:    failure.GetTruncated(),
			}, status.Message(), status.Err())
		}
	}
	if status.Code() == codes.NotFound {
		return &callError{kind: ErrNotFound, status: status}
	}
	return err
}

// Has tells whether the server has a function for this image. An error means that nobody knows.
func (c *Client) Has(ctx context.Context, image string) (bool, error) {
	return function.Has(ctx, c, image)
}

// Runner is a runner of this image. Its calls have no context of their own: they stop when ctx is done.
func (c *Client) Runner(ctx context.Context, image string) *Runner {
	return function.NewRunner(ctx, c, image)
}
