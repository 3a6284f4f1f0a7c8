// SPDX-License-Identifier: BSL-1.0

package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

func perOp(t0 time.Time, n int) float64 { return float64(time.Since(t0).Nanoseconds()) / float64(n) }

func benchYield(r *run) float64 {
	n := r.scaled(5_000_000)
	var wg sync.WaitGroup
	t0 := time.Now()
	for g := 0; g < 2; g++ {
		wg.Add(1)
		go func() {
			for i := 0; i < n/2; i++ {
				runtime.Gosched()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	return perOp(t0, n)
}

func benchPingpong(r *run) float64 {
	n := r.scaled(2_000_000)
	there, back, done := make(chan int), make(chan int), make(chan int)
	t0 := time.Now()
	go func() {
		for v := range there {
			back <- v + 1
		}
		close(done)
	}()
	v := 0
	for i := 0; i < n; i++ {
		there <- v
		v = <-back
	}
	took := perOp(t0, n)
	close(there)
	<-done
	check(v == n)
	return took
}

func benchChanBuf(r *run) float64 {
	n := r.scaled(20_000_000)
	c := make(chan int, 128)
	t0 := time.Now()
	go func() {
		for i := 0; i < n; i++ {
			c <- i
		}
		close(c)
	}()
	sum := 0
	for v := range c {
		sum += v
	}
	took := perOp(t0, n)
	check(sum == n*(n-1)/2)
	return took
}

func benchMpmc(r *run) float64 {
	n := r.scaled(8_000_000)
	c := make(chan int, 128)
	sums := make(chan int, 4)
	var producers sync.WaitGroup
	t0 := time.Now()
	for g := 0; g < 4; g++ {
		producers.Add(1)
		go func(first int) {
			for i := first; i < n; i += 4 {
				c <- i
			}
			producers.Done()
		}(g)
		go func() {
			sum := 0
			for v := range c {
				sum += v
			}
			sums <- sum
		}()
	}
	producers.Wait()
	close(c)
	sum := <-sums + <-sums + <-sums + <-sums
	took := perOp(t0, n)
	check(sum == n*(n-1)/2)
	return took
}

func benchRing(r *run) float64 {
	const size = 503
	n := r.scaled(5_000_000)
	chans := make([]chan int, size)
	for i := range chans {
		chans[i] = make(chan int)
	}
	done := make(chan int)
	for i := range chans {
		// The token counts down; whoever sees zero ends the run.
		go func(in <-chan int, out chan<- int) {
			for {
				v, ok := <-in
				if !ok {
					return
				}
				if v == 0 {
					done <- 1
					continue
				}
				out <- v - 1
			}
		}(chans[i], chans[(i+1)%size])
	}
	t0 := time.Now()
	chans[0] <- n
	<-done
	took := perOp(t0, n)
	for _, c := range chans {
		close(c)
	}
	return took
}

func benchSelect(r *run) float64 {
	n := r.scaled(4_000_000)
	var c [4]chan int
	for g := range c {
		c[g] = make(chan int, 128)
	}
	t0 := time.Now()
	for g := range c {
		go func(first int) {
			for i := first; i < n; i += 4 {
				c[first] <- i
			}
		}(g)
	}
	sum := 0
	for i := 0; i < n; i++ {
		select {
		case v := <-c[0]:
			sum += v
		case v := <-c[1]:
			sum += v
		case v := <-c[2]:
			sum += v
		case v := <-c[3]:
			sum += v
		}
	}
	took := perOp(t0, n)
	check(sum == n*(n-1)/2)
	return took
}

func benchMutex(r *run) float64 {
	n := r.scaled(4_000_000)
	var mu sync.Mutex
	var wg sync.WaitGroup
	count := 0
	t0 := time.Now()
	for g := 0; g < 8; g++ {
		wg.Add(1)
		go func() {
			for i := 0; i < n/8; i++ {
				mu.Lock()
				count++
				mu.Unlock()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	took := perOp(t0, n)
	check(count == n)
	return took
}

func benchPipeline(r *run) float64 {
	n := r.scaled(2_000_000)
	const stages = 8
	first := make(chan int, 64)
	t0 := time.Now()
	go func() {
		for i := 0; i < n; i++ {
			first <- i
		}
		close(first)
	}()
	in := first
	for s := 0; s < stages; s++ {
		out := make(chan int, 64)
		go func(in <-chan int, out chan<- int) {
			for v := range in {
				out <- v + 1
			}
			close(out)
		}(in, out)
		in = out
	}
	sum := 0
	for v := range in {
		sum += v
	}
	took := perOp(t0, n)
	check(sum == n*(n-1)/2+stages*n)
	return took
}

func benchSieve(r *run) float64 {
	count := 2500
	if r.quick {
		count = 1000
	}
	first := make(chan int)
	t0 := time.Now()
	go func() {
		for i := 2; ; i++ {
			first <- i
		}
	}()
	c, prime := first, 0
	for i := 0; i < count; i++ {
		prime = <-c
		next := make(chan int)
		go func(in <-chan int, out chan<- int, p int) {
			for {
				if v := <-in; v%p != 0 {
					out <- v
				}
			}
		}(c, next, prime)
		c = next
	}
	took := float64(time.Since(t0).Microseconds()) / 1e3
	check(prime == map[bool]int{false: 22307, true: 7919}[r.quick])
	return took
}

func check(ok bool) {
	if !ok {
		fail(fmt.Errorf("a workload computed a wrong result"))
	}
}
