package portico_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"portico.dev/go"
)

func ExampleRenderer_Render() {
	client, err := portico.New("unix:///run/portico/grpc.sock")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := client.Renderer(portico.RenderOptions{}).Render(ctx, map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n",
	})
	if err != nil {
		log.Fatal(err) // nothing is to be written
	}
	if err := result.Err(); err != nil {
		fmt.Println(err) // the pipeline failed; result.Files has what is to be written all the same
	}
	for _, path := range result.Changed {
		fmt.Println(path, len(result.Files[path]))
	}
}

func ExampleClient_Evaluate() {
	client, err := portico.New("dns:///function-runner:9445")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	list := []byte("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n")
	output, err := client.Evaluate(context.Background(), "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0", list)
	var failure *portico.FunctionError
	if errors.As(err, &failure) {
		fmt.Println(failure.ExitCode, failure.Stderr)
	}
	fmt.Println(len(output))
}
