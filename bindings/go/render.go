package portico

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"portico.dev/go/internal/outcome"
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
	// Limits by their names (docs/limits.md): numbers, bytes, nanoseconds. Up to the operator's maximum; where there is none
	// they only lower what holds.
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

// What renders come to, here or in package embed.
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

// Render renders a package: content by slash path, without a slash in front. The package is the topmost directory with a
// Kptfile; files outside of it stay, and without a Kptfile all do.
//
// An error means that there is no result and that nothing is to be written. When ctx is done it is that of ctx.
func (r *Renderer) Render(ctx context.Context, files map[string]string) (*Result, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	root, found := outcome.Root(files)
	if !found {
		return outcome.Untouched(files), nil
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
	result.Files = maps.Clone(files)
	for path := range deleted {
		delete(result.Files, path)
		result.Deleted = append(result.Deleted, path)
	}
	for path, content := range changes {
		result.Files[path] = content.String()
		result.Changed = append(result.Changed, path)
	}
	slices.Sort(result.Changed)
	slices.Sort(result.Deleted)
	return result, nil
}
