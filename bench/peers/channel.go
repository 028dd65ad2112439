// Go's channels with the workloads of bench/values_channel.c. Prints a line with the name of the
// workload and the nanoseconds of one operation.
//
//	bench_peer_go_channel name times    runs the workload `name` with `times` operations
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

const window = 128 // capacity of the buffered ones

func alone(times int) {
	c := make(chan uint64, 1)
	for i := 0; i < times; i++ {
		c <- uint64(i)
		<-c
	}
}

func pingPong(times int) {
	there, back := make(chan uint64), make(chan uint64)
	go func() {
		for word := range there {
			back <- word
		}
		close(back)
	}()
	for i := 0; i < times; i++ {
		there <- uint64(i)
		<-back
	}
	close(there)
}

// So many senders and receivers on one channel, `times` words in all.
func crowd(times, senders, receivers, capacity int) {
	c := make(chan uint64, capacity)
	var sending, receiving sync.WaitGroup
	for s := 0; s < senders; s++ {
		sending.Add(1)
		go func() {
			for i := 0; i < times/senders; i++ {
				c <- uint64(i)
			}
			sending.Done()
		}()
	}
	for r := 0; r < receivers; r++ {
		receiving.Add(1)
		go func() {
			for range c {
			}
			receiving.Done()
		}()
	}
	sending.Wait()
	close(c)
	receiving.Wait()
}

// Four senders, each with a channel of its own, and one that selects from them.
func selecting(times int) {
	var c [4]chan uint64
	for i := range c {
		c[i] = make(chan uint64, window)
		go func(own chan uint64) {
			for i := 0; i < times/4; i++ {
				own <- uint64(i)
			}
		}(c[i])
	}
	for i := 0; i < times/4*4; i++ {
		select {
		case <-c[0]:
		case <-c[1]:
		case <-c[2]:
		case <-c[3]:
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: bench_peer_go_channel name times")
		os.Exit(2)
	}
	times, _ := strconv.Atoi(os.Args[2])
	begin := time.Now()
	switch os.Args[1] {
	case "alone":
		alone(times)
	case "pingpong":
		pingPong(times)
	case "stream":
		crowd(times, 1, 1, window)
	case "crowd":
		crowd(times, 4, 4, window)
	case "rendezvous":
		crowd(times, 4, 4, 0)
	case "select":
		selecting(times)
	default:
		fmt.Fprintln(os.Stderr, "unknown workload")
		os.Exit(2)
	}
	fmt.Printf("%s %f\n", os.Args[1], float64(time.Since(begin).Nanoseconds())/float64(times))
}
