// set-owner writes who answers for every object of a package.
//
// Nothing here knows what runs it: built for the host it is an executable for kpt, built with
// GOOS=wasip1 GOARCH=wasm it is a function for Portico.
package main

import (
	"context"
	"os"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

const annotation = "example.com/owner"

// SetOwner is the function; the SDK puts the `data` of the ConfigMap that it is configured with into Data.
type SetOwner struct {
	Data map[string]string `json:"data,omitempty"`
}

// Run annotates every object that has no owner yet.
func (s *SetOwner) Run(_ *fn.Context, _ *fn.KubeObject, items fn.KubeObjects, results *fn.Results) bool {
	owner := s.Data["owner"]
	if owner == "" {
		results.Errorf("`owner` is not set: say who answers for this package")
		return false
	}
	for _, object := range items {
		if object.GetAnnotation(annotation) != "" {
			continue
		}
		if err := object.SetAnnotation(annotation, owner); err != nil {
			results.ErrorE(err)
			return false
		}
		*results = append(*results, fn.ConfigObjectResult("owner is "+owner, object, fn.Info))
	}
	return true
}

func main() {
	if err := fn.AsMain(fn.WithContext(context.Background(), &SetOwner{})); err != nil {
		os.Exit(1)
	}
}
