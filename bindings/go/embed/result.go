//go:build portico_embed

package embed

/*
#include "portico.h"
*/
import "C"

import (
	"maps"
	"slices"
	"time"
	"unsafe"

	"portico.dev/go/internal/outcome"
)

// Style says how changed files are written.
type Style uint32

const (
	// Preserve keeps comments, quotes and layout where nothing changes.
	Preserve Style = C.PORTICO_STYLE_PRESERVE
	// Kpt writes byte for byte as kpt does.
	Kpt Style = C.PORTICO_STYLE_KPT
)

// Record says how much of the outcome goes into the root Kptfile.
type Record uint32

// What goes into the root Kptfile.
const (
	RecordFull       Record = C.PORTICO_RECORD_FULL
	RecordConditions Record = C.PORTICO_RECORD_CONDITIONS
	RecordNone       Record = C.PORTICO_RECORD_NONE
)

// RenderOptions say how to render. The zero value is good.
type RenderOptions struct {
	Style  Style
	Record Record
	// Root is the absolute path to show as the package's place; its last name is the package's name.
	Root string
	// Tenant is whose package it is: with isolation, no process renders for two.
	Tenant string
	// ImagePrefix stands before short image names.
	ImagePrefix string
	// Limits of this render, where they differ from the engine's.
	Limits map[string]uint64
	// Conditions lets the field `condition` of functions have an effect.
	Conditions bool
}

func (o *RenderOptions) c(memory *memory) C.portico_render_options_t {
	var c C.portico_render_options_t
	C.portico_render_options_init(&c)
	c.style, c.record = C.uint32_t(o.Style), C.uint32_t(o.Record)
	c.root, c.tenant, c.image_prefix = memory.text(o.Root), memory.text(o.Tenant), memory.text(o.ImagePrefix)
	c.limits, c.limit_count = memory.limits(o.Limits)
	if o.Conditions {
		c.flags = C.PORTICO_FLAG_CONDITIONS
	}
	return c
}

// What renders come to, here or in the client.
type (
	// Result is what a render came to, failed or not. [Result.Err] tells whether it failed.
	Result = outcome.Result
	// Step is one function call of a render.
	Step = outcome.Step
	// PipelineError is a pipeline that failed.
	PipelineError = outcome.PipelineError
	// FunctionResult is one thing that a function reports, in kpt's shape.
	FunctionResult = outcome.FunctionResult
)

var failureKinds = map[C.int32_t]string{
	C.PORTICO_STATUS_BAD_PACKAGE:     "package",
	C.PORTICO_STATUS_UNRESOLVED:      "unresolved",
	C.PORTICO_STATUS_FUNCTION_FAILED: "function",
	C.PORTICO_STATUS_BAD_OUTPUT:      "output",
}

var states = map[C.uint32_t]string{
	C.PORTICO_STEP_PASSED:  "passed",
	C.PORTICO_STEP_FAILED:  "failed",
	C.PORTICO_STEP_SKIPPED: "skipped",
	C.PORTICO_STEP_NOT_RUN: "notRun",
}

// resultOf copies a result out of the library. The package lies at root among the files.
func resultOf(c *C.portico_result_t, root string, files map[string]string) *Result {
	result := &Result{
		Files:          maps.Clone(files),
		Failure:        text(C.portico_result_message(c)),
		FailureKind:    failureKinds[C.portico_result_status(c)],
		FailedStep:     int(C.portico_result_failed_step(c)),
		Results:        text(C.portico_result_yaml(c)),
		SavedOnFailure: C.portico_result_saved_on_failure(c) != 0,
	}
	for at := C.size_t(0); at < C.portico_result_changes(c); at++ {
		var change C.portico_change_t
		C.portico_result_change(c, at, &change)
		path := root + text(change.path)
		if change.deleted != 0 {
			delete(result.Files, path)
			result.Deleted = append(result.Deleted, path)
		} else {
			result.Files[path] = text(change.content)
			result.Changed = append(result.Changed, path)
		}
	}
	slices.Sort(result.Changed)
	slices.Sort(result.Deleted)
	for at := C.size_t(0); at < C.portico_result_steps(c); at++ {
		result.Steps = append(result.Steps, stepOf(c, at))
	}
	for at := C.size_t(0); at < C.portico_result_warnings(c); at++ {
		result.Warnings = append(result.Warnings, text(C.portico_result_warning(c, at)))
	}
	return result
}

func stepOf(c *C.portico_result_t, at C.size_t) Step {
	step := C.portico_step_t{struct_size: C.sizeof_portico_step_t}
	C.portico_result_step(c, at, &step)
	return Step{
		Package:        text(step._package),
		Name:           text(step.name),
		Image:          text(step.image),
		Validator:      step.kind == C.PORTICO_STEP_VALIDATOR,
		Index:          int(step.index),
		State:          states[step.state],
		ExitCode:       int(step.exit_code),
		ExecutionError: text(step.execution_error),
		Cause:          text(step.cause),
		Stderr:         text(step.stderr_text),
		StderrDropped:  uint64(step.stderr_dropped),
		Resources:      int(step.resources),
		Elapsed:        time.Duration(min(uint64(step.elapsed_nanoseconds), 1<<63-1)),
		Fuel:           uint64(step.fuel),
		PeakMemory:     uint64(step.peak_memory),
	}
}

func text(text C.portico_text_t) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(text.data)), int(text.len)))
}
