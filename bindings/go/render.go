package portico

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"
	"time"

	"portico.dev/go/porticopb"
)

// piece is how much of a file goes into one message.
const piece = 1 << 20

// Style says how changed files are written.
type Style int32

const (
	// Preserve keeps comments, quotes and layout where nothing changes.
	Preserve = Style(porticopb.YamlStyle_YAML_STYLE_PRESERVE)
	// Kpt writes byte for byte as kpt does.
	Kpt = Style(porticopb.YamlStyle_YAML_STYLE_KPT)
)

// Record says how much of the outcome goes into the root Kptfile.
type Record int32

// What goes into the root Kptfile.
const (
	RecordFull       = Record(porticopb.StatusMode_STATUS_MODE_FULL)
	RecordConditions = Record(porticopb.StatusMode_STATUS_MODE_CONDITIONS)
	RecordNone       = Record(porticopb.StatusMode_STATUS_MODE_NONE)
)

// RenderOptions say how to render. The zero value is good.
type RenderOptions struct {
	Style  Style
	Record Record
	// Namespace is whose package it is: the server decides on limits by it.
	Namespace string
	// Name is the package's name in messages.
	Name string
	// Limits by their names (docs/limits.md): numbers, bytes, nanoseconds. They lower what the operator allows.
	Limits map[string]uint64
	// OnEvent is told what happens, while it happens; in the goroutine of Render, which waits for it.
	OnEvent func(*porticopb.RenderEvent)
}

// Renderer renders packages with the same options. It can be used from many goroutines.
type Renderer struct {
	client  *Client
	options RenderOptions
}

// Renderer is a renderer with these options.
func (c *Client) Renderer(options RenderOptions) *Renderer {
	return &Renderer{client: c, options: options}
}

// Result is what a render came to, failed or not.
type Result struct {
	// Files are all files of the package as they are now, those outside of it and those that did not change included. Of a
	// pipeline that failed: as the Kptfile asks, either as they came or unfinished, and the Kptfile with its new status.
	Files map[string]string
	// Changed and Deleted are the paths of files that are new or other than they came, and of those that are gone.
	Changed, Deleted []string
	// Failure tells why the pipeline failed and what to do; empty when it passed. FailureKind is package, unresolved,
	// function or output.
	Failure, FailureKind string
	// Results is what the functions reported, as the results.yaml of kpt.
	Results string
	Steps   []Step
	// SavedOnFailure tells that Files are the unfinished state that `kpt.dev/save-on-render-failure` asks for.
	SavedOnFailure bool
	Warnings       []string
}

// Step is one function call of a render.
type Step struct {
	// Package is a slash path from the root, empty for the root.
	Package string
	// Name is what the Kptfile calls it, perhaps nothing; Image is the full one.
	Name, Image string
	Validator   bool
	// State is passed, failed, skipped or notRun.
	State string
	// ExitCode is the function's own; ExecutionError says what the code does not, Cause says it in a word for programs.
	ExitCode              int
	ExecutionError, Cause string
	Stderr                string
	Results               []*porticopb.FunctionResult
	Elapsed               time.Duration
	Fuel, PeakMemory      uint64
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

// Render renders a package: content by slash path, without a slash in front. The package is the topmost directory with a
// Kptfile; files outside of it stay, and without a Kptfile all do.
//
// An error means that there is no result and that nothing is to be written. When ctx is done it is that of ctx.
func (r *Renderer) Render(ctx context.Context, files map[string]string) (*Result, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	root, found := packageRoot(files)
	if !found {
		return &Result{Files: copied(files)}, nil
	}
	// Whatever ends this call ends the one on the server.
	call, stop := context.WithCancel(r.client.Context(ctx))
	defer stop()
	stream, err := r.client.renders.Render(call)
	if err != nil {
		return nil, ended(ctx, err)
	}
	if err := r.send(stream, root, files); err != nil && !errors.Is(err, io.EOF) {
		return nil, ended(ctx, err)
	}
	result, err := r.receive(stream, root, files)
	if err != nil {
		return nil, ended(ctx, err)
	}
	return result, nil
}

// send sends the package. An error of io.EOF means that the server has said enough, which receive tells.
func (r *Renderer) send(stream porticopb.RenderService_RenderClient, root string, files map[string]string) error {
	begin := &porticopb.RenderBegin{
		Namespace: r.options.Namespace,
		Name:      r.options.Name,
		Style:     porticopb.YamlStyle(r.options.Style),
		Status:    porticopb.StatusMode(r.options.Record),
		Events:    r.options.OnEvent != nil,
	}
	for name, value := range r.options.Limits {
		begin.Limits = append(begin.Limits, &porticopb.Limit{Name: name, Value: value})
	}
	message := &porticopb.RenderRequest{Message: &porticopb.RenderRequest_Begin{Begin: begin}}
	if err := stream.Send(message); err != nil {
		return err
	}
	var chunks []*porticopb.FileChunk
	size := 0
	flush := func() error {
		if len(chunks) == 0 {
			return nil
		}
		message := &porticopb.RenderRequest{Message: &porticopb.RenderRequest_Files{Files: &porticopb.Files{Chunks: chunks}}}
		chunks, size = nil, 0
		return stream.Send(message)
	}
	for full, content := range files {
		path, inside := strings.CutPrefix(full, root)
		if !inside {
			continue
		}
		for {
			part := content[:min(len(content), piece)]
			content = content[len(part):]
			chunk := &porticopb.FileChunk{Path: path, Data: []byte(part), More: content != ""}
			if size+len(part)+len(path) > piece {
				if err := flush(); err != nil {
					return err
				}
			}
			chunks, size = append(chunks, chunk), size+len(part)+len(path)
			if content == "" {
				break
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return stream.CloseSend()
}

func (r *Renderer) receive(stream porticopb.RenderService_RenderClient, root string, files map[string]string) (*Result, error) {
	var result *Result
	changes, deleted := map[string]*strings.Builder{}, map[string]bool{}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch message := message.GetMessage().(type) {
		case *porticopb.RenderResponse_Event:
			if r.options.OnEvent != nil {
				r.options.OnEvent(message.Event)
			}
		case *porticopb.RenderResponse_Outcome:
			result = resultOf(message.Outcome)
		case *porticopb.RenderResponse_Files:
			for _, chunk := range message.Files.GetChunks() {
				if chunk.GetDeleted() {
					deleted[root+chunk.GetPath()] = true
					continue
				}
				content := changes[root+chunk.GetPath()]
				if content == nil {
					content = new(strings.Builder)
					changes[root+chunk.GetPath()] = content
				}
				content.Write(chunk.GetData())
			}
		}
	}
	if result == nil {
		return nil, fmt.Errorf("the server ended its answer before the outcome of the render")
	}
	result.Files = copied(files)
	for path := range deleted {
		delete(result.Files, path)
		result.Deleted = append(result.Deleted, path)
	}
	for path, content := range changes {
		result.Files[path] = content.String()
		result.Changed = append(result.Changed, path)
	}
	sort.Strings(result.Changed)
	sort.Strings(result.Deleted)
	return result, nil
}

func resultOf(outcome *porticopb.RenderOutcome) *Result {
	result := &Result{
		Failure:        outcome.GetFailure(),
		FailureKind:    outcome.GetFailureKind(),
		Results:        outcome.GetResultsYaml(),
		SavedOnFailure: outcome.GetSavedOnFailure(),
		Warnings:       outcome.GetWarnings(),
	}
	for _, step := range outcome.GetSteps() {
		result.Steps = append(result.Steps, Step{
			Package:        step.GetPackage(),
			Name:           step.GetName(),
			Image:          step.GetImage(),
			Validator:      step.GetValidator(),
			State:          step.GetState(),
			ExitCode:       int(step.GetExitCode()),
			ExecutionError: step.GetError(),
			Cause:          step.GetCause(),
			Stderr:         step.GetStderr(),
			Results:        step.GetResults(),
			Elapsed:        step.GetElapsed().AsDuration(),
			Fuel:           step.GetFuel(),
			PeakMemory:     step.GetPeakMemory(),
		})
	}
	return result
}

// packageRoot is the topmost directory with a Kptfile, as the beginning of paths: empty or with a slash at its end. Of
// several at one height the first by name.
func packageRoot(files map[string]string) (string, bool) {
	root, depth, found := "", 0, false
	for name := range files {
		if path.Base(name) != "Kptfile" {
			continue
		}
		candidate := strings.TrimSuffix(name, "Kptfile")
		height := strings.Count(candidate, "/")
		if !found || height < depth || (height == depth && candidate < root) {
			root, depth, found = candidate, height, true
		}
	}
	return root, found
}

func copied(files map[string]string) map[string]string {
	all := make(map[string]string, len(files))
	for path, content := range files {
		all[path] = content
	}
	return all
}
