//go:build portico_embed

package embed

/*
#cgo CFLAGS: -I${SRCDIR}/../../c/include
#cgo LDFLAGS: -lportico
#include <stdlib.h>
#include "portico.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"portico.dev/go/internal/outcome"
)

// Code tells what went wrong; see the header.
type Code int32

// The codes of portico.h.
const (
	InvalidArgument Code = C.PORTICO_INVALID_ARGUMENT
	ABIMismatch     Code = C.PORTICO_ABI_MISMATCH
	EngineFailed    Code = C.PORTICO_ENGINE
	Busy            Code = C.PORTICO_BUSY
	BadPackage      Code = C.PORTICO_PACKAGE
	Cancelled       Code = C.PORTICO_CANCELLED
	WorkerFailed    Code = C.PORTICO_WORKER
	Internal        Code = C.PORTICO_INTERNAL
)

// Error is a render that could not begin or was given up, or an engine that could not be made. A render that failed is a
// [Result].
type Error struct {
	Code    Code
	Message string
}

func (e *Error) Error() string { return e.Message }

// Is makes errors.Is find [ErrNoInput]: of an argument that is not what it has to be, the library's message names it.
func (e *Error) Is(target error) bool {
	return target == ErrNoInput && e.Code == InvalidArgument && strings.HasPrefix(e.Message, "`resource_list` ")
}

// ErrClosed is what a render ends with whose engine was closed.
var ErrClosed = errors.New("the engine is closed")

// Function is a module of one's own.
type Function struct {
	// Image is the name that stands for it in Kptfiles.
	Image string
	// Module is the path of its WebAssembly file.
	Module string
}

// Options say how to make an engine. The zero value is good: the functions of the catalog, in this process, and nobody
// compiles.
type Options struct {
	// Program is the absolute path of the portico program of this version; it compiles modules, and renders with Isolate.
	Program string
	// Compile lets Program compile modules that are not part of the library, each in a child process.
	Compile bool
	// Isolate has functions run in child processes without files and sockets, one for each tenant.
	Isolate bool
	// CacheDir keeps compiled modules.
	CacheDir string
	// Workers is how many renders run at the same time. 0: one a core.
	Workers uint32
	// Queue is how many renders wait at most. 0: 1,000.
	Queue uint32
	// PoolSlots is how many instances are kept ready, 4 GiB of address space each. 0: none.
	PoolSlots uint32
	// Functions are modules of one's own, before all others.
	Functions []Function
	// FunctionDirs are directories of modules.
	FunctionDirs []string
	// Limits by their names (docs/limits.md): numbers, bytes, nanoseconds; the largest number for none.
	Limits map[string]uint64
}

// Engine renders packages. It can be used from many goroutines.
type Engine struct {
	mutex  sync.RWMutex
	engine *C.portico_engine_t
}

// New makes an engine; one for a process is enough.
func New(options Options) (*Engine, error) {
	memory := new(memory)
	defer memory.free()
	var c C.portico_engine_options_t
	C.portico_engine_options_init(&c)
	if options.Compile {
		c.compile = C.PORTICO_COMPILE_CHILD
	}
	if options.Isolate {
		c.isolate = 1
	}
	c.program = memory.text(options.Program)
	c.cache_dir = memory.text(options.CacheDir)
	c.workers, c.queue, c.pool_slots = C.uint32_t(options.Workers), C.uint32_t(options.Queue), C.uint32_t(options.PoolSlots)
	if count := len(options.Functions); count > 0 {
		functions := array[C.portico_function_t](memory, count)
		for at, function := range options.Functions {
			functions[at].image, functions[at].module = memory.text(function.Image), memory.text(function.Module)
		}
		c.functions, c.function_count = &functions[0], C.size_t(count)
	}
	if count := len(options.FunctionDirs); count > 0 {
		directories := array[C.portico_text_t](memory, count)
		for at, directory := range options.FunctionDirs {
			directories[at] = memory.text(directory)
		}
		c.function_dirs, c.function_dir_count = &directories[0], C.size_t(count)
	}
	c.limits, c.limit_count = memory.limits(options.Limits)

	var engine *C.portico_engine_t
	var failure *C.portico_error_t
	if C.portico_engine_new(&c, &engine, &failure) != C.PORTICO_OK {
		return nil, taken(failure)
	}
	return &Engine{engine: engine}, nil
}

// Close cancels every render of the engine and returns when its threads have ended. Twice is once.
func (e *Engine) Close() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	C.portico_engine_free(e.engine)
	e.engine = nil
}

// Renderer renders packages with the same options. It can be used from many goroutines.
type Renderer struct {
	engine  *Engine
	options RenderOptions
}

// Renderer is a renderer with these options.
func (e *Engine) Renderer(options RenderOptions) *Renderer {
	return &Renderer{engine: e, options: options}
}

// Render renders a package: content by slash path, without a slash in front. The package is the topmost directory with a
// Kptfile; files outside of it stay, and without a Kptfile all do.
//
// It returns when the render has ended. An error means that there is no result and that nothing is to be written. When ctx
// is done the render is stopped within milliseconds, and the error is that of ctx.
func (r *Renderer) Render(ctx context.Context, files map[string]string) (*Result, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	root, found := outcome.Root(files)
	if !found {
		return outcome.Untouched(files), nil
	}
	render, err := r.engine.start(&r.options, func(memory *memory, pinner *runtime.Pinner, options *C.portico_render_options_t,
		render **C.portico_render_t, failure **C.portico_error_t) C.int32_t {
		array := array[C.portico_file_t](memory, len(files))
		at := 0
		for path, content := range files {
			if path, inside := strings.CutPrefix(path, root); inside {
				array[at].path, array[at].content = pinned(pinner, path), pinned(pinner, content)
				at++
			}
		}
		return C.portico_render(r.engine.engine, &array[0], C.size_t(at), options, render, failure)
	})
	if err != nil {
		return nil, err
	}
	defer C.portico_render_free(render)
	c, err := ended(ctx, render)
	if err != nil {
		return nil, err
	}
	return resultOf(c, root, files), nil
}

// start starts what the library is to do, with options and memory that last for the call.
func (e *Engine) start(options *RenderOptions, call func(*memory, *runtime.Pinner, *C.portico_render_options_t,
	**C.portico_render_t, **C.portico_error_t) C.int32_t) (*C.portico_render_t, error) {
	e.mutex.RLock()
	defer e.mutex.RUnlock()
	if e.engine == nil {
		return nil, ErrClosed
	}
	memory := new(memory)
	defer memory.free()
	// The library copies what it reads; until then strings and bytes stay where they are.
	var pinner runtime.Pinner
	defer pinner.Unpin()
	c := options.c(memory)
	var render *C.portico_render_t
	var failure *C.portico_error_t
	if call(memory, &pinner, &c, &render, &failure) != C.PORTICO_OK {
		return nil, taken(failure)
	}
	return render, nil
}

// ended waits for a render, and stops it when ctx is done. The result lasts as long as the render.
func ended(ctx context.Context, render *C.portico_render_t) (*C.portico_result_t, error) {
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		C.portico_cancel(render)
	})
	var result *C.portico_result_t
	var failure *C.portico_error_t
	code := C.portico_wait(render, -1, &result, &failure)
	if !stop() {
		// It uses the render.
		<-cancelled
	}
	if code == C.PORTICO_OK {
		return result, nil
	}
	err := taken(failure)
	if code == C.PORTICO_CANCELLED {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, ErrClosed
	}
	return nil, err
}

// taken turns an error of the library into one of Go's, and frees it.
func taken(failure *C.portico_error_t) error {
	defer C.portico_error_free(failure)
	return &Error{Code: Code(C.portico_error_code(failure)), Message: C.GoString(C.portico_error_message(failure))}
}

// pinned is a text over the bytes of a string, for as long as they are pinned.
func pinned(pinner *runtime.Pinner, text string) C.portico_text_t {
	if text == "" {
		return C.portico_text_t{}
	}
	data := unsafe.StringData(text)
	pinner.Pin(data)
	return C.portico_text_t{data: (*C.char)(unsafe.Pointer(data)), len: C.size_t(len(text))}
}

// memory of C, for the length of a call.
type memory struct{ blocks []unsafe.Pointer }

func (m *memory) free() {
	for _, block := range m.blocks {
		C.free(block)
	}
}

func (m *memory) text(text string) C.portico_text_t {
	if text == "" {
		return C.portico_text_t{}
	}
	data := C.CString(text)
	m.blocks = append(m.blocks, unsafe.Pointer(data))
	return C.portico_text_t{data: data, len: C.size_t(len(text))}
}

func (m *memory) limits(limits map[string]uint64) (*C.portico_limit_t, C.size_t) {
	if len(limits) == 0 {
		return nil, 0
	}
	array := array[C.portico_limit_t](m, len(limits))
	at := 0
	for name, value := range limits {
		array[at].name, array[at].value = m.text(name), C.uint64_t(value)
		at++
	}
	return &array[0], C.size_t(len(limits))
}

// array is one in C's memory: Go's must not hold pointers when C gets it.
func array[T any](m *memory, count int) []T {
	var zero T
	// Out of memory ends the program, as cgo's own allocations do.
	block := C.calloc(C.size_t(count), C.size_t(unsafe.Sizeof(zero)))
	if block == nil {
		panic(fmt.Sprintf("out of memory: %d elements", count))
	}
	m.blocks = append(m.blocks, block)
	return unsafe.Slice((*T)(block), count)
}
