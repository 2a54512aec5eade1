package portico

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"portico.dev/go/porticopb"
)

func TestAResultHasWhatTheServerTells(t *testing.T) {
	value := "1"
	report := &porticopb.FunctionResult{
		Message:     "replicas is wrong",
		Severity:    "error",
		ResourceRef: &porticopb.ResourceRef{ApiVersion: "apps/v1", Kind: "Deployment", Name: "a", Namespace: "b"},
		Field:       &porticopb.Field{Path: "spec.replicas", CurrentValue: &value},
		File:        &porticopb.FileRef{Path: "a.yaml", Index: 2},
		Tags:        map[string]string{"key": "value"},
	}
	result := resultOf(&porticopb.RenderOutcome{
		Failure:     "it failed",
		FailureKind: "function",
		Steps: []*porticopb.Step{
			{Package: "db", Image: "f", State: "passed", Elapsed: durationpb.New(time.Second)},
			{Image: "f", State: "passed", Results: []*porticopb.FunctionResult{{Message: "by the way"}}},
			{Image: "g", State: "skipped"},
			{Image: "f", Validator: true, State: "failed", ExitCode: 3, Cause: "exit", Results: []*porticopb.FunctionResult{report}},
			{Image: "g", Validator: true, State: "notRun"},
		},
	})
	if result.Failure != "it failed" || result.FailureKind != "function" || result.FailedStep != 3 {
		t.Fatalf("%+v", result)
	}
	for at, index := range []int{0, 0, 1, 0, 1} {
		if step := result.Steps[at]; step.Index != index || step.Resources != -1 {
			t.Errorf("%d: %+v", at, step)
		}
	}
	if result.Steps[0].Elapsed != time.Second || result.Steps[3].ExitCode != 3 {
		t.Errorf("%+v", result.Steps)
	}
	bare := result.Steps[1].Results[0]
	if bare.Message != "by the way" || bare.ResourceRef != nil || bare.Field != nil || bare.File != nil {
		t.Errorf("%+v", bare)
	}
	full := result.Steps[3].Results[0]
	if full.Severity != "error" || full.ResourceRef.APIVersion != "apps/v1" || full.ResourceRef.Namespace != "b" ||
		full.Field.Path != "spec.replicas" || *full.Field.CurrentValue != "1" || full.Field.ProposedValue != nil ||
		full.File.Path != "a.yaml" || full.File.Index != 2 || full.Tags["key"] != "value" {
		t.Errorf("%+v", full)
	}
	if passed := resultOf(&porticopb.RenderOutcome{Rendered: true}); passed.FailedStep != -1 || passed.Err() != nil {
		t.Errorf("%+v", passed)
	}
}
