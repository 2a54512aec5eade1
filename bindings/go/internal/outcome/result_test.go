package outcome

import (
	"errors"
	"testing"
)

func TestTheRootIsTheTopmostDirectoryWithAKptfile(t *testing.T) {
	for _, c := range []struct {
		paths []string
		root  string
		found bool
	}{
		{paths: []string{"a.yaml", "NoKptfile", "a/NoKptfile"}},
		{[]string{"Kptfile", "a/Kptfile"}, "", true},
		{[]string{"z/Kptfile", "b/Kptfile", "a/b/Kptfile"}, "b/", true},
		{[]string{"a/b/c/Kptfile", "other.yaml", "a/b/Kptfile"}, "a/b/", true},
	} {
		files := map[string]string{}
		for _, path := range c.paths {
			files[path] = ""
		}
		if root, found := Root(files); root != c.root || found != c.found {
			t.Errorf("%v: %q, %v", c.paths, root, found)
		}
	}
}

func TestAPipelineThatFailedIsAnError(t *testing.T) {
	if err := new(Result).Err(); err != nil {
		t.Error(err)
	}
	result := &Result{Failure: "it failed"}
	var failure *PipelineError
	if err := result.Err(); !errors.As(err, &failure) || failure.Result != result || err.Error() != "it failed" {
		t.Error(err)
	}
}
