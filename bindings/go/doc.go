// Package portico renders kpt packages, and runs single functions of them, on a Portico server: over gRPC, without cgo.
//
// A [Renderer] renders whole packages:
//
//	client, err := portico.New("unix:///run/portico/grpc.sock")
//	...
//	result, err := client.Renderer(portico.RenderOptions{}).Render(ctx, files)
//
// An error means that there is no result. A pipeline that failed is a result whose [Result.Err] tells why.
//
// [Client.Evaluate] runs one function on one ResourceList, and [Client.Runner] does so in the shape of kpt's
// FunctionRunner. The package portico.dev/go/kpt, a module of its own, has kpt's FunctionRuntime, over this package or embed.
//
// Every call stops when its context is done, and so does the function on the server.
//
// The package portico.dev/go/embed renders in this process instead, over the C interface. Its results and errors are of the
// same types.
package portico
