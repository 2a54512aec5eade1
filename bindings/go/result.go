package portico

import (
	"slices"

	"portico.dev/go/internal/outcome"
	"portico.dev/go/porticopb"
)

// resultOf is a result without files.
func resultOf(rendered *porticopb.RenderOutcome) *Result {
	result := &Result{
		Failure:        rendered.GetFailure(),
		FailureKind:    rendered.GetFailureKind(),
		Results:        rendered.GetResultsYaml(),
		SavedOnFailure: rendered.GetSavedOnFailure(),
		Warnings:       rendered.GetWarnings(),
	}
	// All steps of a list come, in order.
	type list struct {
		path      string
		validator bool
	}
	positions := map[list]int{}
	for _, step := range rendered.GetSteps() {
		list := list{step.GetPackage(), step.GetValidator()}
		result.Steps = append(result.Steps, Step{
			Package:        step.GetPackage(),
			Name:           step.GetName(),
			Image:          step.GetImage(),
			Validator:      step.GetValidator(),
			Index:          positions[list],
			State:          step.GetState(),
			ExitCode:       int(step.GetExitCode()),
			ExecutionError: step.GetError(),
			Cause:          step.GetCause(),
			Stderr:         step.GetStderr(),
			Results:        reportsOf(step.GetResults()),
			Resources:      -1,
			Elapsed:        step.GetElapsed().AsDuration(),
			Fuel:           step.GetFuel(),
			PeakMemory:     step.GetPeakMemory(),
		})
		positions[list]++
	}
	// The first that fails is the last that runs.
	result.FailedStep = slices.IndexFunc(result.Steps, func(step Step) bool { return step.State == "failed" })
	return result
}

func reportsOf(results []*porticopb.FunctionResult) []FunctionResult {
	var reports []FunctionResult
	for _, result := range results {
		report := FunctionResult{Message: result.GetMessage(), Severity: result.GetSeverity(), Tags: result.GetTags()}
		if of := result.GetResourceRef(); of != nil {
			report.ResourceRef = &outcome.ResourceRef{
				APIVersion: of.GetApiVersion(),
				Kind:       of.GetKind(),
				Name:       of.GetName(),
				Namespace:  of.GetNamespace(),
			}
		}
		if field := result.GetField(); field != nil {
			report.Field = &outcome.Field{
				Path:          field.GetPath(),
				CurrentValue:  field.CurrentValue,
				ProposedValue: field.ProposedValue,
			}
		}
		if file := result.GetFile(); file != nil {
			report.File = &outcome.FileRef{Path: file.GetPath(), Index: int(file.GetIndex())}
		}
		reports = append(reports, report)
	}
	return reports
}
