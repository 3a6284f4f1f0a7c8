// SPDX-License-Identifier: BSL-1.0

// The workloads of leat-bench in Go, with the same names, parameters, flags and JSON lines.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
)

type run struct {
	procs   int
	quick   bool
	samples []sample
}

type sample struct {
	Sub, Unit string
	Value     float64
}

func (r *run) scaled(n int) int {
	if r.quick {
		return (n + 9) / 10
	}
	return n
}

func (r *run) report(sub, unit string, value float64) {
	r.samples = append(r.samples, sample{sub, unit, value})
}

type workload struct {
	name   string
	unit   string
	procs  []int
	fresh  bool // each repetition in a process of its own
	warmUp bool
	// The bare figure; NaN if there are only named ones.
	body func(r *run) float64
}

var onlyNamed = math.NaN()

var workloads = []workload{
	{"yield", "ns", []int{1, 2}, false, true, benchYield},
	{"pingpong", "ns", []int{1, 2}, false, true, benchPingpong},
	{"chan_buf", "ns", []int{1, 2}, false, true, benchChanBuf},
	{"mpmc", "ns", []int{1, 2}, false, true, benchMpmc},
	{"ring", "ns", []int{1, 2}, false, true, benchRing},
	{"spawn", "ns", []int{1, 2}, false, true, benchSpawn},
	{"tcp_echo", "ns", []int{1, 2}, true, false, benchTcpEcho},
	{"tcp_echo_pinned", "ns", []int{1}, true, false, benchTcpEchoPinned},
	{"skynet", "ms", []int{1, 2}, false, true, benchSkynet},
	{"sieve", "ms", []int{1, 2}, false, true, benchSieve},
	{"select", "ns", []int{1, 2}, false, true, benchSelect},
	{"mutex", "ns", []int{1, 2}, false, true, benchMutex},
	{"pipeline", "ns", []int{1, 2}, false, true, benchPipeline},
	{"park_mem", "B", []int{1}, true, false, benchParkMem},
	{"timers", "ms", []int{1, 2}, false, false, benchTimers},
	{"preempt", "ms", []int{1}, true, false, benchPreempt},
	{"wake", "us", []int{2}, false, false, benchWake},
	{"wake_busy", "us", []int{2}, false, false, benchWakeBusy},
}

type names []string

func (n *names) String() string { return strings.Join(*n, ",") }
func (n *names) Set(s string) error {
	for _, w := range workloads {
		if w.name == s {
			*n = append(*n, s)
			return nil
		}
	}
	return fmt.Errorf("no workload '%s'; see --list", s)
}

type counts []int

func (c *counts) String() string { return fmt.Sprint(*c) }
func (c *counts) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1024 {
		return fmt.Errorf("not a number from 1 to 1024")
	}
	*c = append(*c, n)
	return nil
}

func runOnce(w workload, procs int, quick bool) []sample {
	runtime.GOMAXPROCS(procs)
	runtime.GC()
	r := &run{procs: procs, quick: quick}
	if bare := w.body(r); !math.IsNaN(bare) {
		r.samples = append([]sample{{"", w.unit, bare}}, r.samples...)
	}
	return r.samples
}

func runInChild(w workload, procs int, quick bool) ([]sample, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, "--child", "--only", w.name, "--procs", strconv.Itoa(procs), fmt.Sprintf("--quick=%v", quick))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var samples []sample
	return samples, json.Unmarshal(text, &samples)
}

func median(v []float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	if h := len(s) / 2; len(s)%2 == 0 {
		return (s[h-1] + s[h]) / 2
	} else {
		return s[h]
	}
}

type line struct {
	Name   string    `json:"name"`
	Procs  int       `json:"procs"`
	Unit   string    `json:"unit"`
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Reps   int       `json:"reps"`
	Values []float64 `json:"values"`
	Quick  bool      `json:"quick"`
	Peer   string    `json:"peer"`
}

func measure(w workload, procs, reps, warmUps int, quick bool) ([]line, error) {
	if !w.warmUp {
		warmUps = 0
	}
	var lines []line
	at := map[string]int{}
	for rep := -warmUps; rep < reps; rep++ {
		var samples []sample
		var err error
		if w.fresh {
			samples, err = runInChild(w, procs, quick)
		} else {
			samples = runOnce(w, procs, quick)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		if rep < 0 {
			continue
		}
		for _, s := range samples {
			name := w.name
			if s.Sub != "" {
				name += "." + s.Sub
			}
			if _, known := at[name]; !known {
				at[name] = len(lines)
				lines = append(lines, line{Name: name, Procs: procs, Unit: s.Unit, Quick: quick, Peer: "go"})
			}
			l := &lines[at[name]]
			l.Values = append(l.Values, s.Value)
		}
	}
	for i := range lines {
		l := &lines[i]
		sorted := append([]float64(nil), l.Values...)
		sort.Float64s(sorted)
		l.Median, l.Min, l.Max, l.Reps = median(sorted), sorted[0], sorted[len(sorted)-1], len(sorted)
	}
	return lines, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "leat-peer-go:", err)
	os.Exit(1)
}

func main() {
	var only names
	var procs counts
	flag.Var(&only, "only", "run this workload (repeatable)")
	flag.Var(&procs, "procs", "with this GOMAXPROCS (repeatable)")
	reps := flag.Int("reps", 5, "repetitions per figure")
	warmUps := flag.Int("warmup", 1, "repetitions before that, not counted")
	file := flag.String("json", "", "append one JSON object a line to this file")
	quick := flag.Bool("quick", false, "a tenth of the work")
	list := flag.Bool("list", false, "list the workloads")
	child := flag.Bool("child", false, "one repetition, raw, for this program's own use")
	flag.Parse()
	for _, name := range flag.Args() {
		if err := only.Set(name); err != nil {
			fmt.Fprintln(os.Stderr, "leat-peer-go:", err)
			os.Exit(2)
		}
	}
	if *reps < 1 || *warmUps < 0 {
		fmt.Fprintln(os.Stderr, "leat-peer-go: --reps must be at least 1, --warmup at least 0")
		os.Exit(2)
	}
	if *list {
		for _, w := range workloads {
			ps := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(w.procs)), ","), "[]")
			fmt.Printf("%-10s %-3s %s\n", w.name, w.unit, ps)
		}
		return
	}
	debug.SetMaxThreads(1000)
	var out *os.File
	if *file != "" {
		f, err := os.OpenFile(*file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			fail(err)
		}
		defer f.Close()
		out = f
	}
	for _, w := range workloads {
		wanted := len(only) == 0
		for _, name := range only {
			wanted = wanted || name == w.name
		}
		if !wanted {
			continue
		}
		ps := []int(procs)
		if len(ps) == 0 {
			ps = w.procs
		}
		for _, p := range ps {
			if *child {
				text, err := json.Marshal(runOnce(w, p, *quick))
				if err != nil {
					fail(err)
				}
				os.Stdout.Write(text)
				os.Exit(0)
			}
			lines, err := measure(w, p, *reps, *warmUps, *quick)
			if err != nil {
				fail(err)
			}
			for _, l := range lines {
				fmt.Printf("%-14s %5d %12.2f %12.2f %12.2f  %s\n", l.Name, l.Procs, l.Median, l.Min, l.Max, l.Unit)
				if out == nil {
					continue
				}
				text, err := json.Marshal(l)
				if err != nil {
					fail(err)
				}
				if _, err = out.Write(append(text, '\n')); err != nil {
					fail(err)
				}
			}
		}
	}
}
