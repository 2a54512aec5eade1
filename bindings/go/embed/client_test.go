//go:build portico_embed

package embed_test

import (
	"context"

	"portico.dev/go"
	"portico.dev/go/embed"
)

// Whoever renders need not know where.
type renderer interface {
	Render(context.Context, map[string]string) (*portico.Result, error)
	Has(context.Context, string) (bool, error)
	Evaluate(context.Context, string, []byte) ([]byte, error)
}

// The client has functions and its renderer packages; here one has both.
type client struct {
	*portico.Client
	*portico.Renderer
}

var (
	_ renderer = client{}
	_ renderer = (*embed.Renderer)(nil)
	// Errors too are of the same types.
	_ *portico.FunctionError = (*embed.FunctionError)(nil)
	_ *portico.PipelineError = (*embed.PipelineError)(nil)
)
