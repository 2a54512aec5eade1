package kpt

import (
	"os"
	"testing"

	"portico.dev/go"
)

// places are where the tests of this package run functions: on a server, and with the tag portico_embed in this process.
var places = map[string]func(*testing.T) Functions{"on a server": onServer}

// everywhere runs a test with a runtime of each place.
func everywhere(t *testing.T, test func(*testing.T, *Runtime)) {
	for name, functions := range places {
		t.Run(name, func(t *testing.T) {
			runtime := NewRuntime(functions(t))
			t.Cleanup(func() {
				if err := runtime.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, runtime)
		})
	}
}

// onServer are the functions of the server that PORTICO_GRPC names; server/tests/grpc/go.rs starts it.
func onServer(t *testing.T) Functions {
	address := os.Getenv("PORTICO_GRPC")
	if address == "" {
		t.Skip("PORTICO_GRPC is not set")
	}
	client, err := portico.New(address)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
