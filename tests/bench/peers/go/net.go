// SPDX-License-Identifier: BSL-1.0

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"
)

// All threads there are; those made later inherit it.
func pinTo(cpu int) {
	tasks, _ := os.ReadDir("/proc/self/task")
	set := [16]uint64{}
	set[cpu/64] = 1 << (cpu % 64)
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	}
}

func serveEcho(listener net.Listener) {
	for {
		peer, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer peer.Close()
			data := make([]byte, 4096)
			for {
				n, err := peer.Read(data)
				if err != nil {
					return
				}
				if _, err := peer.Write(data[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// The client is leat-echo-client, the same as for Leat; build.sh puts it beside this program.
func benchEcho(r *run, pinned bool) float64 {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	milliseconds, cpu := "2000", "-1"
	if r.quick {
		milliseconds = "300"
	}
	if pinned {
		pinTo(0)
		cpu = "1"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go serveEcho(listener)
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	client := exec.Command(filepath.Join(filepath.Dir(self), "leat-echo-client"), port, milliseconds, cpu)
	out, err := client.Output()
	if err != nil {
		panic(err)
	}
	listener.Close()
	var rate, p50, p99 float64
	if _, err := fmt.Sscan(string(out), &rate, &p50, &p99); err != nil {
		panic(err)
	}
	r.report("p99", "us", p99)
	return 1e9 / rate
}

func benchTcpEcho(r *run) float64       { return benchEcho(r, false) }
func benchTcpEchoPinned(r *run) float64 { return benchEcho(r, true) }
