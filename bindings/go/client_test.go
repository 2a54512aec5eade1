package portico_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"portico.dev/go"
	"portico.dev/go/porticopb"
)

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a # mine\n"

// client is one of the server that PORTICO_GRPC names; server/tests/grpc/go.rs starts it, with functions that behave
// badly.
func client(t *testing.T, options ...portico.Option) *portico.Client {
	t.Helper()
	address := os.Getenv("PORTICO_GRPC")
	if address == "" {
		t.Skip("PORTICO_GRPC is not set")
	}
	client, err := portico.New(address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func pkg(functions ...string) map[string]string {
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n"
	for _, function := range functions {
		kptfile += "  - image: probe.local/" + function + ":v1\n"
	}
	return map[string]string{
		"Kptfile":   kptfile,
		"a.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: a # mine\n",
		"README.md": "text",
	}
}

func TestAFunctionPassesBytesThrough(t *testing.T) {
	output, err := client(t).Evaluate(t.Context(), "probe.local/echo:v1", []byte(list))
	if err != nil || string(output) != list {
		t.Fatalf("%v: %q", err, output)
	}
}

func TestAFailingFunctionTellsAll(t *testing.T) {
	var output bytes.Buffer
	err := client(t).Runner(t.Context(), "probe.local/fail:v1").Run(strings.NewReader(list), &output)
	var failure *portico.FunctionError
	if !errors.As(err, &failure) {
		t.Fatalf("%T: %v", err, err)
	}
	if failure.ExitCode != 3 || failure.Cause != "exit" || failure.Stderr != "first\nsecond\n" || failure.Truncated {
		t.Fatalf("%+v", failure)
	}
	if status.Code(err) != codes.Internal || !strings.Contains(output.String(), "replicas is wrong") {
		t.Fatalf("%v: %q", err, output.String())
	}
}

func TestStderrBecomesAResult(t *testing.T) {
	output, err := client(t, portico.WithStderrResults()).Evaluate(t.Context(), "probe.local/chatty:v1", []byte(list))
	if err != nil || !strings.Contains(string(output), "by the way") {
		t.Fatalf("%v: %q", err, output)
	}
}

func TestFunctionsCanBeLookedFor(t *testing.T) {
	client := client(t)
	for image, want := range map[string]bool{"probe.local/echo:v1": true, "probe.local/unknown:v1": false, "probe.local/broken:v1": true} {
		if has, err := client.Has(t.Context(), image); err != nil || has != want {
			t.Errorf("%s: %v, %v", image, has, err)
		}
	}
	_, err := client.Evaluate(t.Context(), "probe.local/unknown:v1", []byte(list))
	if !errors.Is(err, portico.ErrNotFound) || !strings.Contains(err.Error(), "probe.local/unknown:v1") {
		t.Errorf("%v", err)
	}
}

func TestACancelledCallReturnsAtOnce(t *testing.T) {
	client := client(t)
	for name, call := range map[string]func(context.Context) error{
		"Evaluate": func(ctx context.Context) error {
			_, err := client.Evaluate(ctx, "probe.local/spin:v1", []byte(list))
			return err
		},
		"Render": func(ctx context.Context) error {
			result, err := client.Renderer(portico.RenderOptions{}).Render(ctx, pkg("spin"))
			if result != nil {
				t.Error("a result of a render that was cancelled")
			}
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		ctx, stop := context.WithCancelCause(t.Context())
		why := errors.New("on purpose")
		time.AfterFunc(50*time.Millisecond, func() { stop(why) })
		if err := call(ctx); !errors.Is(err, why) {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(ctx); !errors.Is(err, why) {
			t.Errorf("%s, cancelled before: %v", name, err)
		}
	}
}

func TestAPackageIsRendered(t *testing.T) {
	files := pkg("echo", "chatty")
	var kinds []porticopb.RenderEvent_Kind
	renderer := client(t).Renderer(portico.RenderOptions{
		OnEvent: func(event *porticopb.RenderEvent) { kinds = append(kinds, event.GetKind()) },
	})
	result, err := renderer.Render(t.Context(), files)
	if err != nil || result.Err() != nil {
		t.Fatal(err, result.Err())
	}
	if len(result.Files) != 3 || result.Files["a.yaml"] != files["a.yaml"] || result.Files["README.md"] != "text" {
		t.Errorf("%v", result.Files)
	}
	if len(result.Changed) != 1 || result.Changed[0] != "Kptfile" || len(result.Deleted) != 0 {
		t.Errorf("%v %v", result.Changed, result.Deleted)
	}
	if len(result.Steps) != 2 || result.Steps[1].Stderr != "by the way" || result.Steps[0].State != "passed" {
		t.Errorf("%+v", result.Steps)
	}
	if len(kinds) != 6 {
		t.Errorf("%v", kinds)
	}
	styled, err := client(t).Renderer(portico.RenderOptions{Style: portico.Kpt}).Render(t.Context(), files)
	if err != nil || !strings.Contains(styled.Files["a.yaml"], "\n  name: a # mine") {
		t.Errorf("%v: %q", err, styled.Files["a.yaml"])
	}
}

func TestAPipelineThatFailsIsAResult(t *testing.T) {
	result, err := client(t).Renderer(portico.RenderOptions{Record: portico.RecordNone}).Render(t.Context(), pkg("fail", "echo"))
	if err != nil {
		t.Fatal(err)
	}
	var failure *portico.PipelineError
	if !errors.As(result.Err(), &failure) || result.FailureKind != "function" {
		t.Fatalf("%+v", result)
	}
	step := result.Steps[0]
	if step.ExitCode != 3 || len(step.Results) != 1 || step.Results[0].Message != "replicas is wrong" {
		t.Errorf("%+v", step)
	}
	if len(result.Changed) != 0 || len(result.Files) != 3 {
		t.Errorf("%v", result.Changed)
	}
}

func TestThePackageIsTheTopmostDirectoryWithAKptfile(t *testing.T) {
	renderer := client(t).Renderer(portico.RenderOptions{})
	files := map[string]string{"outside.yaml": "a: 1\n"}
	for path, content := range pkg("echo") {
		files["deep/app/"+path] = content
	}
	result, err := renderer.Render(t.Context(), files)
	if err != nil || result.Err() != nil {
		t.Fatal(err, result.Err())
	}
	if len(result.Files) != 4 || len(result.Changed) != 1 || result.Changed[0] != "deep/app/Kptfile" {
		t.Errorf("%v %v", result.Changed, result.Files)
	}
	untouched, err := renderer.Render(t.Context(), map[string]string{"a.yaml": "a: 1\n"})
	if err != nil || untouched.Files["a.yaml"] != "a: 1\n" || len(untouched.Changed) != 0 {
		t.Errorf("%v %v", untouched, err)
	}
}

func TestALargePackageAndManyAtOnce(t *testing.T) {
	client := client(t)
	files := pkg("echo")
	files["large.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: large\ndata:\n    key: " + strings.Repeat("x", 6<<20) + "\n"
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			result, err := client.Renderer(portico.RenderOptions{Style: portico.Kpt}).Render(t.Context(), files)
			if err != nil || result.Err() != nil || len(result.Files["large.yaml"]) < 6<<20 {
				t.Errorf("%v", err)
			}
		})
	}
	group.Wait()
}

func TestRevisionsAreScheduledAndWatched(t *testing.T) {
	client := client(t)
	renders, ctx := client.Renders(), client.Context(t.Context())
	schedule, err := renders.Schedule(ctx)
	if err != nil {
		t.Fatal(err)
	}
	key := &porticopb.Key{Namespace: "team", Name: "from-go"}
	begin := &porticopb.ScheduleBegin{Key: key, Repository: "blueprints", WithFiles: true, SourceVersion: "7"}
	send := func(message *porticopb.ScheduleRequest) {
		if err := schedule.Send(message); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	send(&porticopb.ScheduleRequest{Message: &porticopb.ScheduleRequest_Begin{Begin: begin}})
	for path, content := range pkg("echo") {
		chunk := &porticopb.FileChunk{Path: path, Data: []byte(content)}
		files := &porticopb.Files{Chunks: []*porticopb.FileChunk{chunk}}
		send(&porticopb.ScheduleRequest{Message: &porticopb.ScheduleRequest_Files{Files: files}})
	}
	if _, err := schedule.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := renders.Watch(ctx, &porticopb.WatchRequest{Namespace: key.Namespace, Name: key.Name})
	if err != nil {
		t.Fatal(err)
	}
	for {
		message, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, condition := range message.GetPut().GetConditions() {
			if condition.GetType() == "Rendered" && condition.GetStatus() == "True" {
				if version := message.GetPut().GetSourceVersion(); version != "7" {
					t.Fatalf("%q", version)
				}
				return
			}
		}
	}
}
