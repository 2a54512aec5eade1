// Package outcome is what the client and the renderer in this process say alike of renders. It is free of both, so that a
// program with one of them does without the other.
package outcome

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Result is what a render came to, failed or not.
type Result struct {
	// Files are all files as they are now, those outside of the package and those that did not change included. Of a
	// pipeline that failed: as the Kptfile asks, either as they came or unfinished, and the Kptfile with its new status.
	Files map[string]string
	// Changed and Deleted are the paths of files that are new or other than they came, and of those that are gone.
	Changed, Deleted []string
	// Failure tells why the pipeline failed and what to do; empty when it passed. FailureKind is package, unresolved,
	// function or output.
	Failure, FailureKind string
	// FailedStep is with what it failed, in Steps; -1 for nothing.
	FailedStep int
	// Results is what the functions reported, as the results.yaml of kpt.
	Results string
	Steps   []Step
	// SavedOnFailure tells that Files are the unfinished state that `kpt.dev/save-on-render-failure` asks for.
	SavedOnFailure bool
	Warnings       []string
}

// Untouched is what the render of no package comes to.
func Untouched(files map[string]string) *Result {
	return &Result{Files: maps.Clone(files), FailedStep: -1}
}

// PipelineError is a pipeline that failed.
type PipelineError struct{ Result *Result }

func (e *PipelineError) Error() string { return e.Result.Failure }

// Err is a [*PipelineError] when the pipeline failed, and nil when it passed.
func (r *Result) Err() error {
	if r.Failure == "" {
		return nil
	}
	return &PipelineError{Result: r}
}

// Step is one function call of a render.
type Step struct {
	// Package is a slash path from the root, empty for the root.
	Package string
	// Name is what the Kptfile calls it, perhaps nothing; Image is the full one.
	Name, Image string
	Validator   bool
	// Index is the position in the list of mutators or validators.
	Index int
	// State is passed, failed, skipped or notRun.
	State string
	// ExitCode is the function's own; ExecutionError says what the code does not, Cause says it in a word for programs.
	ExitCode              int
	ExecutionError, Cause string
	Stderr                string
	// StderrDropped is how many bytes are not in Stderr. In process only.
	StderrDropped uint64
	// Results is what the function reported. Over gRPC only; the results of the whole render are in [Result.Results].
	Results []FunctionResult
	// Resources is how many it got; -1 when it was not run, and over gRPC, where nobody tells.
	Resources        int
	Elapsed          time.Duration
	Fuel, PeakMemory uint64
}

// FunctionResult is one thing that a function reports, in kpt's shape.
type FunctionResult struct {
	Message, Severity string
	// ResourceRef, Field and File are nil where the function names none.
	ResourceRef *ResourceRef
	Field       *Field
	File        *FileRef
	Tags        map[string]string
}

// ResourceRef names a resource.
type ResourceRef struct{ APIVersion, Kind, Name, Namespace string }

// Field is a field of a resource. Its values are nil where there are none.
type Field struct {
	Path                        string
	CurrentValue, ProposedValue *string
}

// FileRef is a place in a file: its path, and which of its documents.
type FileRef struct {
	Path  string
	Index int
}

// Root is the topmost directory with a Kptfile, as the beginning of paths: empty or with a slash at its end. Of several at
// one height the first by name.
func Root(files map[string]string) (string, bool) {
	var roots []string
	for path := range files {
		if root, is := strings.CutSuffix(path, "Kptfile"); is && (root == "" || strings.HasSuffix(root, "/")) {
			roots = append(roots, root)
		}
	}
	if len(roots) == 0 {
		return "", false
	}
	return slices.MinFunc(roots, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	}), true
}
