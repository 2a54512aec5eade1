// Load calls a function runner from many goroutines over one connection, as Porch does, until its standard input ends or
// its time is up. It prints `started` after the first answer, and in the end one line of figures.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"portico.dev/go/evaluatorpb"
)

func main() {
	target := flag.String("target", "", "the server")
	image := flag.String("image", "probe.local/echo:v1", "the function")
	callers := flag.Int("callers", 200, "calls at once")
	size := flag.Int("size", 1000, "bytes of the ResourceList, about")
	most := flag.Duration("for", time.Hour, "how long")
	flag.Parse()

	const maxMessage = 6 * 1024 * 1024
	conn, err := grpc.NewClient(*target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	defer conn.Close()
	client := evaluatorpb.NewFunctionEvaluatorClient(conn)

	var list strings.Builder
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for at := 0; list.Len() < *size; at++ {
		fmt.Fprintf(&list, "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: map-%d\n    annotations:\n      internal.config.kubernetes.io/path: 'file-%d.yaml'\n      internal.config.kubernetes.io/index: '0'\n  data:\n    key: value\n", at, at)
	}
	// What functions that set labels, annotations or a namespace take.
	list.WriteString("functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: config\n  data:\n    namespace: load\n")
	request := &evaluatorpb.EvaluateFunctionRequest{Image: *image, ResourceList: []byte(list.String())}

	// No call is cut: the end is between calls.
	var over atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	time.AfterFunc(*most, func() { over.Store(true) })

	var mutex sync.Mutex
	var times []time.Duration
	failed, first := 0, ""
	var group sync.WaitGroup
	began := time.Now()
	started := sync.OnceFunc(func() { fmt.Println("started") })
	for range *callers {
		group.Go(func() {
			var mine []time.Duration
			for !over.Load() {
				at := time.Now()
				_, err := client.EvaluateFunction(context.Background(), request)
				mine = append(mine, time.Since(at))
				started()
				if err != nil {
					mutex.Lock()
					failed++
					if first == "" {
						first = err.Error()
					}
					mutex.Unlock()
				}
			}
			mutex.Lock()
			times = append(times, mine...)
			mutex.Unlock()
		})
	}
	group.Wait()
	elapsed := time.Since(began)
	slices.Sort(times)
	at := func(share float64) time.Duration {
		return times[min(int(share*float64(len(times))), len(times)-1)].Round(10 * time.Microsecond)
	}
	fmt.Printf("calls=%d failed=%d rate=%.0f/s p50=%v p99=%v max=%v first=%q\n",
		len(times), failed, float64(len(times))/elapsed.Seconds(), at(0.5), at(0.99), at(1), first)
}
