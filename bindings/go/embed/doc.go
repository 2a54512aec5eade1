// Package embed renders packages in this process, over the C interface of Portico.
//
// It needs cgo, the build tag portico_embed and the library:
//
//	cargo build --release -p portico-c
//	CGO_LDFLAGS="-L$PWD/target/release" go build -tags portico_embed ./...
//
// Without the tag the package is empty, so that a program that does not ask for it builds without cgo.
//
// [Renderer.Render] renders whole packages. [Renderer.Evaluate] runs one function, [Renderer.Has] tells whether there is one, and
// [Renderer.Runner] is a runner for kpt; portico.dev/go/kpt takes a renderer for its runtime. Results and errors are of the same
// types as those of the client, portico.dev/go, and need nothing of it.
//
// Functions run on threads of the library, which block all signals but those of faults. The library's handlers for
// faults pass on what is not theirs: nil dereferences in Go panic as ever.
package embed
