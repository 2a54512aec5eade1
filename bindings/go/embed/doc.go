// Package embed renders packages in this process, over the C interface of Portico.
//
// It needs cgo, the build tag portico_embed and the library:
//
//	cargo build --release -p portico-c
//	CGO_LDFLAGS="-L$PWD/target/release" go build -tags portico_embed ./...
//
// Without the tag the package is empty, so that a program that does not ask for it builds without cgo.
//
// Functions run on threads of the library, which block all signals but those of faults. The library's handlers for
// faults pass on what is not theirs: nil dereferences in Go panic as ever.
package embed
