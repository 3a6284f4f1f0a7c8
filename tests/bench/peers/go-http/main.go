// SPDX-License-Identifier: BSL-1.0

// The answer of examples/http-hello by net/http: leat-peer-go-http ADDRESS
package main

import (
	"log"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write([]byte("hello, world\n"))
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
