// SPDX-License-Identifier: BSL-1.0

package main

import (
	"math/rand"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func benchSpawn(r *run) float64 {
	n := r.scaled(1_000_000)
	const batch = 1000
	t0 := time.Now()
	for i := 0; i < n/batch; i++ {
		var wg sync.WaitGroup
		wg.Add(batch)
		for j := 0; j < batch; j++ {
			go wg.Done()
		}
		wg.Wait()
	}
	return perOp(t0, n)
}

func skynet(c chan<- int, num, size int) {
	if size == 1 {
		c <- num
		return
	}
	children := make(chan int)
	for i := 0; i < 10; i++ {
		go skynet(children, num+i*(size/10), size/10)
	}
	sum := 0
	for i := 0; i < 10; i++ {
		sum += <-children
	}
	c <- sum
}

func benchSkynet(r *run) float64 {
	n := r.scaled(1_000_000)
	c := make(chan int)
	t0 := time.Now()
	go skynet(c, 0, n)
	sum := <-c
	took := float64(time.Since(t0).Microseconds()) / 1e3
	check(sum == n*(n-1)/2)
	return took
}

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		fail(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		fail(err)
	}
	return float64(pages) * float64(os.Getpagesize())
}

func benchParkMem(r *run) float64 {
	n := r.scaled(1_000_000)
	c := make(chan int)
	before := residentBytes()
	var started sync.WaitGroup
	started.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			started.Done()
			<-c
		}()
	}
	started.Wait()
	runtime.Gosched()
	return (residentBytes() - before) / float64(n)
}

func percentile(sorted []float64, share float64) float64 {
	return sorted[int(share*float64(len(sorted)-1)+0.5)]
}

func cpuSeconds() float64 {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		fail(err)
	}
	return float64(use.Utime.Nano()+use.Stime.Nano()) / 1e9
}

func benchTimers(r *run) float64 {
	n := r.scaled(100_000)
	late := make([]float64, n)
	var cpu float64
	for pass := 0; pass < 2; pass++ {
		random := rand.New(rand.NewSource(1))
		sleeps := make([]time.Duration, n)
		for i := range sleeps {
			sleeps[i] = 50*time.Millisecond + time.Duration(random.Int63n(int64(100*time.Millisecond)))
		}
		var wg sync.WaitGroup
		wg.Add(n)
		cpu = cpuSeconds()
		for i := 0; i < n; i++ {
			go func(i int) {
				t0 := time.Now()
				time.Sleep(sleeps[i])
				late[i] = float64((time.Since(t0) - sleeps[i]).Nanoseconds()) / 1e6
				wg.Done()
			}(i)
		}
		wg.Wait()
		cpu = cpuSeconds() - cpu
	}
	sort.Float64s(late)
	r.report("p50", "ms", percentile(late, 0.5))
	r.report("p99", "ms", percentile(late, 0.99))
	r.report("max", "ms", late[n-1])
	r.report("cpu", "s", cpu)
	return onlyNamed
}

func benchPreempt(r *run) float64 {
	n := r.scaled(500)
	go func() {
		for {
		}
	}()
	late := make([]float64, n)
	for i := range late {
		t0 := time.Now()
		time.Sleep(time.Millisecond)
		late[i] = float64((time.Since(t0) - time.Millisecond).Nanoseconds()) / 1e6
	}
	sort.Float64s(late)
	r.report("p50", "ms", percentile(late, 0.5))
	r.report("p99", "ms", percentile(late, 0.99))
	return onlyNamed
}

func wake(r *run, busy time.Duration) {
	n := r.scaled(1000)
	c, done := make(chan time.Time), make(chan int)
	late := make([]float64, 0, n)
	go func() {
		for sent := range c {
			late = append(late, float64(time.Since(sent).Nanoseconds())/1e3)
		}
		close(done)
	}()
	for i := 0; i < n; i++ {
		time.Sleep(2*time.Millisecond - busy)
		sent := time.Now()
		c <- sent
		for time.Since(sent) < busy {
		}
	}
	close(c)
	<-done
	sort.Float64s(late)
	r.report("p50", "us", percentile(late, 0.5))
	r.report("p99", "us", percentile(late, 0.99))
}

func benchWake(r *run) float64 {
	wake(r, 0)
	return onlyNamed
}

func benchWakeBusy(r *run) float64 {
	wake(r, 200*time.Microsecond)
	return onlyNamed
}
