//go:build portico_embed

package embed_test

import (
	"context"
	"fmt"

	"portico.dev/go/embed"
)

func Example() {
	engine, err := embed.New(embed.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	result, err := engine.Renderer(embed.RenderOptions{Record: embed.RecordNone}).Render(context.Background(), map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n" +
			"  - image: set-labels:v0.2.0\n    configMap:\n      tier: web\n",
		"settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(result.Files["settings.yaml"])
	// Output:
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: settings
	//   labels:
	//     tier: web
}
