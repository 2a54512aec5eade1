// Package function is what the client and the renderer in this process say alike of single functions. It is free of both, so
// that a program with one of them does without the other.
package function

import (
	"errors"
	"fmt"
)

// ErrNotFound is what errors.Is finds in the error of a function that there is not.
var ErrNotFound = errors.New("there is no such function")

// ErrNoInput is what errors.Is finds in the error of a call whose input is no ResourceList.
var ErrNoInput = errors.New("the input is no ResourceList")

// Error is a function that did not pass.
type Error struct {
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
	// ResourceList is what it wrote, results included. Over gRPC it is empty when that cannot be read; in process it is every
	// byte of it.
	ResourceList []byte
	// Truncated tells that something was left out of Stderr or ResourceList.
	Truncated bool

	text  string
	cause error
}

// Failed is an error with the words of whoever ran the function, and with another beneath it for errors.Is and errors.As.
// Without words it makes its own, and it needs nothing beneath.
func Failed(failure Error, text string, cause error) *Error {
	failure.text, failure.cause = text, cause
	return &failure
}

func (e *Error) Error() string {
	if e.text != "" {
		return e.text
	}
	text := fmt.Sprintf("function %q: %s", e.Image, e.Message)
	if e.Stderr != "" {
		text += "\n" + e.Stderr
	}
	return text
}

// Unwrap is what makes errors.Is find [ErrNotFound], and over gRPC status.Code and status.FromError the server's status.
func (e *Error) Unwrap() error { return e.cause }
