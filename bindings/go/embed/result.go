//go:build portico_embed

package embed

/*
#include "portico.h"
*/
import "C"

import (
	"time"
	"unsafe"
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

// Status says how a render ended.
type Status int32

// How a render ended.
const (
	Rendered       Status = C.PORTICO_STATUS_RENDERED
	PackageInvalid Status = C.PORTICO_STATUS_BAD_PACKAGE
	Unresolved     Status = C.PORTICO_STATUS_UNRESOLVED
	FunctionFailed Status = C.PORTICO_STATUS_FUNCTION_FAILED
	OutputInvalid  Status = C.PORTICO_STATUS_BAD_OUTPUT
)

// State says how a step ended.
type State uint32

// How a step ended.
const (
	Passed  State = C.PORTICO_STEP_PASSED
	Failed  State = C.PORTICO_STEP_FAILED
	Skipped State = C.PORTICO_STEP_SKIPPED
	NotRun  State = C.PORTICO_STEP_NOT_RUN
)

// Result is the result of a render, failed or not.
type Result struct {
	Status Status
	// Message tells why it failed and what to do.
	Message string
	// FailedPackage is where it failed: a slash path from the root, empty for the root.
	FailedPackage string
	// FailedStep is with what it failed, in Steps; -1 for nothing.
	FailedStep int
	// Written are the files that shall have this content; Deleted are those that shall be gone. No other file changes.
	Written map[string]string
	Deleted []string
	// SavedOnFailure tells that the changes are the unfinished state that `kpt.dev/save-on-render-failure` asks for.
	SavedOnFailure bool
	// Results is what the functions reported, as the results.yaml of kpt.
	Results string
	// Packages is how many the tree holds.
	Packages int
	Steps    []Step
	Warnings []string
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
	State State
	// ExitCode is the function's own; ExecutionError says what the code does not, Cause says it in a word for programs.
	ExitCode              int
	ExecutionError, Cause string
	Stderr                string
	StderrDropped         uint64
	// Resources is how many it got; -1 when it was not run.
	Resources  int
	Elapsed    time.Duration
	Fuel       uint64
	PeakMemory uint64
}

// resultOf copies a result out of the library.
func resultOf(c *C.portico_result_t) *Result {
	result := &Result{
		Status:         Status(C.portico_result_status(c)),
		Message:        text(C.portico_result_message(c)),
		FailedPackage:  text(C.portico_result_failed_package(c)),
		FailedStep:     int(C.portico_result_failed_step(c)),
		Written:        make(map[string]string),
		SavedOnFailure: C.portico_result_saved_on_failure(c) != 0,
		Results:        text(C.portico_result_yaml(c)),
		Packages:       int(C.portico_result_packages(c)),
	}
	for at := C.size_t(0); at < C.portico_result_changes(c); at++ {
		var change C.portico_change_t
		C.portico_result_change(c, at, &change)
		if change.deleted != 0 {
			result.Deleted = append(result.Deleted, text(change.path))
		} else {
			result.Written[text(change.path)] = text(change.content)
		}
	}
	for at := C.size_t(0); at < C.portico_result_steps(c); at++ {
		step := C.portico_step_t{struct_size: C.sizeof_portico_step_t}
		C.portico_result_step(c, at, &step)
		result.Steps = append(result.Steps, Step{
			Package:        text(step._package),
			Name:           text(step.name),
			Image:          text(step.image),
			Validator:      step.kind == C.PORTICO_STEP_VALIDATOR,
			Index:          int(step.index),
			State:          State(step.state),
			ExitCode:       int(step.exit_code),
			ExecutionError: text(step.execution_error),
			Cause:          text(step.cause),
			Stderr:         text(step.stderr_text),
			StderrDropped:  uint64(step.stderr_dropped),
			Resources:      int(step.resources),
			Elapsed:        time.Duration(min(uint64(step.elapsed_nanoseconds), 1<<63-1)),
			Fuel:           uint64(step.fuel),
			PeakMemory:     uint64(step.peak_memory),
		})
	}
	for at := C.size_t(0); at < C.portico_result_warnings(c); at++ {
		result.Warnings = append(result.Warnings, text(C.portico_result_warning(c, at)))
	}
	return result
}

func text(text C.portico_text_t) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(text.data)), int(text.len)))
}
