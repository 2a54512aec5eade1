//go:build portico_embed

package embed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const kptfile = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: shop
pipeline:
  mutators:
  - image: set-namespace:v0.4.1
    configMap:
      namespace: production
`

const service = `apiVersion: v1
kind: Service # the door
metadata:
  name: front
`

func pipeline(image string) string {
	return strings.Split(kptfile, "  - image")[0] + "  - image: " + image + "\n"
}

func shop() map[string]string {
	return map[string]string{"Kptfile": kptfile, "service.yaml": service, "empty.yaml": "", "README.md": "# shop"}
}

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: Service\n" +
	"  metadata:\n    name: front\nfunctionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n" +
	"  data: {tier: web}\n"

// A package that is rendered for ever.
func endless() map[string]string {
	return map[string]string{
		"Kptfile": pipeline("starlark:v0.4.3") + "    configPath: fn.yaml\n",
		"fn.yaml": `apiVersion: fn.kpt.dev/v1alpha1
kind: StarlarkRun
metadata:
  name: f
  annotations:
    config.kubernetes.io/local-config: 'true'
source: |
  def spin():
    for a in range(1000000000):
      for b in range(1000000000):
        pass
  spin()
`,
	}
}

var unlimited = map[string]uint64{"fuel": 1<<64 - 1, "stepTime": 1<<64 - 1, "renderTime": 1<<64 - 1}

func engine(t *testing.T, options Options) *Engine {
	t.Helper()
	engine, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	return engine
}

func TestRender(t *testing.T) {
	result, err := engine(t, Options{}).Renderer(RenderOptions{Root: "/srv/shop"}).Render(context.Background(), shop())
	if err != nil {
		t.Fatal(err)
	}
	if result.Err() != nil || len(result.Files) != 4 || len(result.Changed) != 2 || len(result.Deleted) != 0 {
		t.Fatalf("%+v", result)
	}
	if got := result.Files["service.yaml"]; !strings.Contains(got, "kind: Service # the door\n") ||
		!strings.Contains(got, "namespace: production\n") {
		t.Fatal(got)
	}
	step := result.Steps[0]
	if !strings.HasSuffix(step.Image, "set-namespace:v0.4.1") || step.State != "passed" || step.Fuel == 0 || step.Elapsed <= 0 {
		t.Fatalf("%+v", step)
	}
	if !strings.Contains(result.Results, "kind: FunctionResultList") {
		t.Fatal(result.Results)
	}
}

func TestFailures(t *testing.T) {
	engine := engine(t, Options{})
	result, err := engine.Renderer(RenderOptions{}).Render(context.Background(), map[string]string{"Kptfile": pipeline("example.com/none:v1")})
	if err != nil || result.FailureKind != "unresolved" || result.Err() == nil || result.FailedStep != 0 || result.Steps[0].Cause != "notFound" {
		t.Fatalf("%+v, %v", result, err)
	}
	var failure *Error
	if _, err = engine.Renderer(RenderOptions{}).Render(context.Background(), map[string]string{"Kptfile": "a: ["}); !errors.As(err, &failure) || failure.Code != BadPackage {
		t.Fatal(err)
	}
	if _, err = New(Options{Limits: map[string]uint64{"fule": 1}}); !errors.As(err, &failure) || failure.Code != InvalidArgument {
		t.Fatal(err)
	}
	if _, err = New(Options{Compile: true}); !errors.As(err, &failure) || failure.Code != InvalidArgument {
		t.Fatal(err)
	}
}

// The package is where the topmost Kptfile is; what lies outside stays.
func TestPlaces(t *testing.T) {
	renderer := engine(t, Options{}).Renderer(RenderOptions{Record: RecordNone})
	files := map[string]string{"a/b/Kptfile": kptfile, "a/b/service.yaml": service, "other.yaml": "a: [\n", "a/b/c/Kptfile": kptfile}
	result, err := renderer.Render(context.Background(), files)
	if err != nil || !slices.Equal(result.Changed, []string{"a/b/service.yaml"}) || len(result.Files) != 4 {
		t.Fatalf("%+v, %v", result, err)
	}
	result, err = renderer.Render(context.Background(), map[string]string{"other.yaml": "a: [\n", "NoKptfile": ""})
	if err != nil || len(result.Files) != 2 || result.Changed != nil || result.FailedStep != -1 || result.Err() != nil {
		t.Fatalf("%+v, %v", result, err)
	}
}

func TestEvaluate(t *testing.T) {
	renderer := engine(t, Options{}).Renderer(RenderOptions{})
	var output strings.Builder
	if err := renderer.Runner(context.Background(), "set-labels:v0.2.0").Run(strings.NewReader(list), &output); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(output.String(), "tier: web\n") {
		t.Fatal(output.String())
	}
	var failure *FunctionError
	err := renderer.Runner(context.Background(), "starlark").Run(strings.NewReader(list), &output)
	if !errors.As(err, &failure) || failure.ExitCode != 1 || failure.Cause != "exit" || failure.Stderr == "" {
		t.Fatalf("%+v, %v", failure, err)
	}
	if _, err = renderer.Evaluate(context.Background(), "example.com/none", []byte(list)); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	var wrong *Error
	if _, err = renderer.Evaluate(context.Background(), "starlark", nil); !errors.As(err, &wrong) || wrong.Code != InvalidArgument || !errors.Is(err, ErrNoInput) {
		t.Fatal(err)
	}
}

// Functions are looked for without running them, and what cannot be asked is no answer.
func TestHas(t *testing.T) {
	modules := os.Getenv("PORTICO_TEST_MODULES")
	if modules == "" {
		t.Fatal("PORTICO_TEST_MODULES names a directory of modules; the Rust test sets it")
	}
	// Nobody compiles, so the module cannot be run.
	engine := engine(t, Options{FunctionDirs: []string{modules}})
	renderer := engine.Renderer(RenderOptions{})
	for image, want := range map[string]bool{"starlark": true, "example.com/none:v1": false, "example.com/echo:v1": true} {
		if has, err := renderer.Has(context.Background(), image); has != want || err != nil {
			t.Errorf("%s: %v, %v", image, has, err)
		}
	}
	var failure *FunctionError
	if _, err := renderer.Evaluate(context.Background(), "example.com/echo:v1", []byte(list)); !errors.As(err, &failure) || failure.Cause != "notCompiled" {
		t.Errorf("%+v, %v", failure, err)
	}
	if has, err := renderer.Has(context.Background(), "no image"); has || err == nil || errors.Is(err, ErrNoInput) {
		t.Errorf("%v, %v", has, err)
	}
	limited := engine.Renderer(RenderOptions{Limits: map[string]uint64{"fule": 1}})
	if has, err := limited.Has(context.Background(), "starlark"); has || err == nil || errors.Is(err, ErrNoInput) {
		t.Errorf("%v, %v", has, err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := renderer.Has(gone, "starlark"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	engine.Close()
	if _, err := renderer.Has(context.Background(), "starlark"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestContext(t *testing.T) {
	engine := engine(t, Options{})
	gone, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("nobody wants it")
	cancel(reason)
	if _, err := engine.Renderer(RenderOptions{}).Render(gone, shop()); !errors.Is(err, reason) {
		t.Fatal(err)
	}
	soon, cancelSoon := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancelSoon()
	if _, err := engine.Renderer(RenderOptions{Limits: unlimited}).Render(soon, endless()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestClose(t *testing.T) {
	engine := engine(t, Options{Workers: 1})
	var renders sync.WaitGroup
	for range 4 {
		renders.Go(func() {
			if _, err := engine.Renderer(RenderOptions{Limits: unlimited}).Render(context.Background(), endless()); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
	runtime.Gosched()
	engine.Close()
	engine.Close()
	renders.Wait()
}

func TestManyGoroutines(t *testing.T) {
	engine := engine(t, Options{PoolSlots: 8})
	var renders sync.WaitGroup
	for number := range 32 {
		renders.Go(func() {
			for range 8 {
				files := shop()
				files["Kptfile"] = strings.ReplaceAll(kptfile, "production", fmt.Sprintf("tenant-%d", number))
				result, err := engine.Renderer(RenderOptions{}).Render(context.Background(), files)
				if err != nil || !strings.Contains(result.Files["service.yaml"], fmt.Sprintf("namespace: tenant-%d\n", number)) {
					t.Errorf("%+v, %v", result, err)
				}
			}
		})
	}
	renders.Wait()
}

// The library's handlers of faults and Go's live in one process: crashes of functions are failed steps, nil dereferences
// of Go are panics, and signals of the program come to Go.
func TestFaults(t *testing.T) {
	program, modules := os.Getenv("PORTICO_BIN"), os.Getenv("PORTICO_TEST_MODULES")
	if program == "" || modules == "" {
		t.Fatal("PORTICO_BIN and PORTICO_TEST_MODULES name the program and the modules that crash; the Rust test sets them")
	}
	engine := engine(t, Options{Program: program, Compile: true, CacheDir: t.TempDir(), FunctionDirs: []string{modules}})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	defer signal.Stop(signals)

	var work sync.WaitGroup
	for _, image := range []string{"load", "unreachable", "divide", "recurse"} {
		work.Go(func() {
			for range 25 {
				files := map[string]string{"Kptfile": pipeline(image), "service.yaml": service}
				result, err := engine.Renderer(RenderOptions{}).Render(context.Background(), files)
				if err != nil || result.FailureKind != "function" || result.Steps[0].Cause != "trap" {
					t.Errorf("%s: %+v, %v", image, result, err)
				}
			}
		})
	}
	for range 4 {
		work.Go(func() {
			for range 200 {
				if !panics() {
					t.Error("a nil dereference did not panic")
				}
				runtime.Gosched()
			}
		})
	}
	for range 20 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		<-signals
	}
	work.Wait()
}

// panics dereferences nil, and tells whether that was a panic of Go's.
func panics() (panicked bool) {
	defer func() {
		err, _ := recover().(runtime.Error)
		panicked = err != nil && strings.Contains(err.Error(), "nil pointer dereference")
	}()
	var nothing *Result
	sink = nothing.FailedStep
	return false
}

var sink int
