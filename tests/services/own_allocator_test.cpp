// SPDX-License-Identifier: BSL-1.0
//
// A program that brings its own malloc: Leat's wrappers, which are weak, give way, and there are no marks. Nobody is
// stopped then, one that hangs is replaced all the same, and both the log and the doctor say so.
#include <malloc.h>
#include <cstddef>

#include <leat/sched/heap_mark.hpp>
#include <leat/services/doctor.hpp>

#include "misbehaving.hpp"

extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);

void* malloc(std::size_t n) { return __libc_malloc(n); }
void free(void* p) { __libc_free(p); }
void* calloc(std::size_t n, std::size_t size) { return __libc_calloc(n, size); }
void* realloc(void* p, std::size_t n) { return __libc_realloc(p, n); }
}

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

TEST_CASE("with an allocator of the program's own one that hangs is replaced, and it is said once why") {
  log_catcher log;
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\n[runtime]\nprocs = 2\n[process.p]\nuse = \"acts\"\nhang = \"30ms\"\ngrace = "
      "\"10ms\"\nrestart = { backoff = [\"0\", \"0\"] }\n");
  act_runs = 0;
  act = [](int run, const in<number>&) {
    volatile unsigned turns = 0;
    while (run <= 2) turns = turns + 1;
    CHECK(stats().frozen == 0);
    CHECK(stats().fenced == 2);
  };
  const ledger l = run_plan(p);
  CHECK_FALSE(sched::heap_is_marked());
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "p").quarantined == 2);
  INFO(log.text());
  CHECK(count_of(log.text(), "this program brings its own malloc, so nobody knows ") == 1);
}

TEST_CASE("the doctor names an allocator without marks, which is no lack") {
  const std::vector<remedy> found = examine(look_at_machine(), nullptr);
  CHECK(to_text(found, false)
            .find("allocator: this program's own, without marks; threads of processes that "
                  "hang run on behind a fence") != std::string::npos);
}
