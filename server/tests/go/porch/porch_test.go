// Package porch calls a function runner as Porch does: the generated stub, its dial options, and nothing of ours.
//
// server/tests/grpc/go.rs starts the server that PORTICO_GRPC names.
package porch

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"portico.dev/go/evaluatorpb"
)

// maxMessage is Porch's default both ways (--max-request-body-size).
const maxMessage = 6 * 1024 * 1024

const list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n# licence\n- apiVersion: v1\n  kind:   ConfigMap # odd\n  metadata:\n    name: 'a'\n"

func dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	address := os.Getenv("PORTICO_GRPC")
	if address == "" {
		t.Skip("PORTICO_GRPC is not set")
	}
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessage),
			grpc.MaxCallSendMsgSize(maxMessage),
		))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func request(image, list string) *evaluatorpb.EvaluateFunctionRequest {
	return &evaluatorpb.EvaluateFunctionRequest{Image: image, ResourceList: []byte(list)}
}

// listOf is a list whose request is of exactly this size.
func listOf(size int, image string) string {
	start := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n  data:\n    key: "
	framing := 1 + protowire.SizeVarint(uint64(size)) + 1 + protowire.SizeBytes(len(image))
	return start + strings.Repeat("x", size-framing-len(start)-1) + "\n"
}

func TestBytesComeBackAsTheFunctionWroteThem(t *testing.T) {
	client := evaluatorpb.NewFunctionEvaluatorClient(dial(t))
	response, err := client.EvaluateFunction(t.Context(), request("probe.local/echo:v1", list))
	if err != nil || string(response.GetResourceList()) != list {
		t.Fatalf("%v: %q", err, response.GetResourceList())
	}
}

func TestPackagesUpToPorchsOwnBound(t *testing.T) {
	client := evaluatorpb.NewFunctionEvaluatorClient(dial(t))
	image := "probe.local/echo:v1"
	for _, size := range []int{5 << 20, maxMessage} {
		large := listOf(size, image)
		response, err := client.EvaluateFunction(t.Context(), request(image, large))
		if err != nil || string(response.GetResourceList()) != large {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
	// One byte more never leaves Porch.
	_, err := client.EvaluateFunction(t.Context(), request(image, listOf(maxMessage+1, image)))
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "larger than max") {
		t.Fatal(err)
	}
}

func TestErrorsByTheTable(t *testing.T) {
	client := evaluatorpb.NewFunctionEvaluatorClient(dial(t))
	for _, row := range []struct {
		image, list, words string
		code               codes.Code
	}{
		{"probe.local/unknown:v1", list, "probe.local/unknown:v1", codes.NotFound},
		{"elsewhere.local/echo:v1", list, "elsewhere.local/echo:v1", codes.NotFound},
		{"", list, "image", codes.InvalidArgument},
		{"Not An Image", list, "Not An Image", codes.InvalidArgument},
		{"probe.local/echo:v1", "a: [", "ResourceList", codes.InvalidArgument},
		{"probe.local/fail:v1", list, "first | second", codes.Internal},
		{"probe.local/fail:v1", list, "[error] replicas is wrong", codes.Internal},
		{"probe.local/garbage:v1", list, "no ResourceList", codes.Internal},
		{"probe.local/silent:v1", list, "empty", codes.Internal},
	} {
		_, err := client.EvaluateFunction(t.Context(), request(row.image, row.list))
		if status.Code(err) != row.code || !strings.Contains(err.Error(), row.words) {
			t.Errorf("%q: %v", row.image, err)
		}
		text := status.Convert(err).Message()
		if len(text) > 8<<10 || strings.ContainsAny(text, "\n\r\t\x1b") {
			t.Errorf("%q is not safe for a condition", text)
		}
	}
}

func TestADeadlineAndACancelStopTheFunction(t *testing.T) {
	client := evaluatorpb.NewFunctionEvaluatorClient(dial(t))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := client.EvaluateFunction(ctx, request("probe.local/spin:v1", list))
	if status.Code(err) != codes.DeadlineExceeded {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = client.EvaluateFunction(ctx, request("probe.local/spin:v1", list))
	if status.Code(err) != codes.Canceled {
		t.Fatal(err)
	}
	// More of them than there are workers: had they not stopped, nothing would be left to run this.
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		client.EvaluateFunction(ctx, request("probe.local/spin:v1", list))
		cancel()
	}
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := client.EvaluateFunction(ctx, request("probe.local/echo:v1", list)); err != nil {
		t.Fatal(err)
	}
}

// Later versions of Porch send a tag and a path to a program.
func TestFieldsOfLaterVersionsAreReadOver(t *testing.T) {
	client := evaluatorpb.NewFunctionEvaluatorClient(dial(t))
	later := request("probe.local/echo:v1", list)
	var fields []byte
	for number, text := range map[protowire.Number]string{3: "~0.1", 4: "/functions/echo"} {
		fields = protowire.AppendTag(fields, number, protowire.BytesType)
		fields = protowire.AppendString(fields, text)
	}
	later.ProtoReflect().SetUnknown(fields)
	response, err := client.EvaluateFunction(t.Context(), later)
	if err != nil || string(response.GetResourceList()) != list {
		t.Fatal(err)
	}
}

func TestHealth(t *testing.T) {
	client := healthpb.NewHealthClient(dial(t))
	answer, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("%v: %v", answer, err)
	}
	watch, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := watch.Recv(); err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("%v: %v", answer, err)
	}
}
