package portico

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"portico.dev/go/evaluatorpb"
	"portico.dev/go/porticopb"
)

// DefaultMaxMessageBytes is the largest message that is sent and received unless told otherwise: the server's own default.
const DefaultMaxMessageBytes = 64 << 20

// Client speaks to a Portico server, over one connection that is made when it is needed. It can be used from many
// goroutines.
type Client struct {
	conn      *grpc.ClientConn
	evaluator evaluatorpb.FunctionEvaluatorClient
	renders   porticopb.RenderServiceClient
	options   options
}

type options struct {
	credentials     credentials.TransportCredentials
	token           string
	namespace       string
	maxMessageBytes int
	maxDetailsBytes int
	stderrResults   bool
	dial            []grpc.DialOption
}

// Option changes how a client speaks.
type Option func(*options)

// WithTransportCredentials has the connection encrypted. Without it, it is in plaintext, as Porch's own.
func WithTransportCredentials(credentials credentials.TransportCredentials) Option {
	return func(o *options) { o.credentials = credentials }
}

// WithToken sends a bearer token with every call. Over plaintext whoever listens has it.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithNamespace says for whom functions are evaluated: the server decides on limits by it.
func WithNamespace(namespace string) Option { return func(o *options) { o.namespace = namespace } }

// WithMaxMessageBytes bounds messages both ways. The server is told, so that it says what is too large.
func WithMaxMessageBytes(bytes int) Option { return func(o *options) { o.maxMessageBytes = bytes } }

// WithMaxDetailsBytes bounds what comes with an error of a function: its ResourceList and standard error. Proxies may
// bound the trailers in which that comes.
func WithMaxDetailsBytes(bytes int) Option { return func(o *options) { o.maxDetailsBytes = bytes } }

// WithStderrResults makes what functions that pass write to standard error a result of severity info.
func WithStderrResults() Option { return func(o *options) { o.stderrResults = true } }

// WithDialOptions adds options of gRPC: interceptors, statistics, load balancing.
func WithDialOptions(dial ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, dial...) }
}

// New makes a client of the server at target: HOST:PORT, dns:///..., unix:///PATH.
func New(target string, configure ...Option) (*Client, error) {
	o := options{
		credentials:     insecure.NewCredentials(),
		maxMessageBytes: DefaultMaxMessageBytes,
		maxDetailsBytes: 1 << 20,
	}
	for _, option := range configure {
		option(&o)
	}
	dial := append([]grpc.DialOption{
		grpc.WithTransportCredentials(o.credentials),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(o.maxMessageBytes),
			grpc.MaxCallSendMsgSize(o.maxMessageBytes),
		),
	}, o.dial...)
	conn, err := grpc.NewClient(target, dial...)
	if err != nil {
		return nil, fmt.Errorf("cannot speak to %q: %w", target, err)
	}
	return &Client{
		conn:      conn,
		evaluator: evaluatorpb.NewFunctionEvaluatorClient(conn),
		renders:   porticopb.NewRenderServiceClient(conn),
		options:   o,
	}, nil
}

// Close ends the connection. Calls that run end with an error.
func (c *Client) Close() error { return c.conn.Close() }

// Renders is the service of whole packages and revisions itself, for what this package has no better words for:
// scheduling, watching, logs. Calls of it need [Client.Context].
func (c *Client) Renders() porticopb.RenderServiceClient { return c.renders }

// Context adds what the client sends with its calls: its token.
func (c *Client) Context(ctx context.Context) context.Context {
	if c.options.token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.options.token)
}
