// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/heap_mark.hpp>

#include <dlfcn.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <leat/fiber/annotate.hpp>

#if defined(__GLIBC__) && !defined(LEAT_ASAN) && !defined(LEAT_TSAN)
#define LEAT_MARKS_HEAP 1
#else
#define LEAT_MARKS_HEAP 0
#endif

extern "C" {
constinit thread_local volatile unsigned leat_heap_depth [[gnu::tls_model("initial-exec")]] = 0;
}

#if LEAT_MARKS_HEAP

namespace {

// The outermost counts. It stores a constant: to count up and down would make each call wait for the last.
class mark {
 public:
  mark() noexcept : outermost_(leat_heap_depth == 0) {
    if (outermost_) [[likely]]
      leat_heap_depth = 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~mark() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (outermost_) [[likely]]
      leat_heap_depth = 0;
  }
  mark(const mark&) = delete;
  mark& operator=(const mark&) = delete;

 private:
  const bool outermost_;
};

// --- The allocator behind ours -----------------------------------------------------------------------
//
// Each pointer leads to a function that finds the next definition first; the first call of all comes before
// any thread is started, from the C++ library's own initialization. What the search itself allocates comes
// from a small arena and is never freed.

//
// A program that is linked statically has nothing behind ours that could be found by name. There some of the C library's
// functions come before ours, which are weak as some of those are: the rest of ours calls these.

extern "C" {
void* __libc_malloc(std::size_t n);
void* __libc_calloc(std::size_t n, std::size_t size);
void* __libc_realloc(void* p, std::size_t n);
void __libc_free(void* p);
void* __libc_memalign(std::size_t align, std::size_t n);
void* __libc_valloc(std::size_t n);
void* __libc_pvalloc(std::size_t n);

void* first_malloc(std::size_t n);
void* first_calloc(std::size_t n, std::size_t size);
void* first_realloc(void* p, std::size_t n);
void first_free(void* p);
void* first_memalign(std::size_t align, std::size_t n);
void* first_aligned_alloc(std::size_t align, std::size_t n);
int first_posix_memalign(void** to, std::size_t align, std::size_t n);
void* first_valloc(std::size_t n);
void* first_pvalloc(std::size_t n);
void* first_reallocarray(void* p, std::size_t n, std::size_t size);
}

struct allocator {
  void* (*malloc)(std::size_t) = first_malloc;
  void* (*calloc)(std::size_t, std::size_t) = first_calloc;
  void* (*realloc)(void*, std::size_t) = first_realloc;
  void (*free)(void*) = first_free;
  void* (*memalign)(std::size_t, std::size_t) = first_memalign;
  void* (*aligned_alloc)(std::size_t, std::size_t) = first_aligned_alloc;
  int (*posix_memalign)(void**, std::size_t, std::size_t) = first_posix_memalign;
  void* (*valloc)(std::size_t) = first_valloc;
  void* (*pvalloc)(std::size_t) = first_pvalloc;
  void* (*reallocarray)(void*, std::size_t, std::size_t) = first_reallocarray;
  // An allocator that brings its own; null: the C++ library's, which come down to malloc.
  void* (*plain_new)(std::size_t) = nullptr;
  void (*plain_delete)(void*) = nullptr;
  void* (*aligned_new)(std::size_t, std::align_val_t) = nullptr;
  void (*aligned_delete)(void*, std::align_val_t) = nullptr;
};
constinit allocator next;

alignas(16) constinit char arena[4096] = {};
constinit std::size_t arena_used = 0;

void* from_arena(std::size_t n) noexcept {
  const std::size_t room = (n + 15) & ~std::size_t{15};
  if (room < n || room > sizeof arena - arena_used) return nullptr;
  void* const at = arena + arena_used;
  arena_used += room;
  return at;
}
bool in_arena(const void* p) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(p), low = reinterpret_cast<std::uintptr_t>(arena);
  return at >= low && at < low + sizeof arena;
}

template <class F>
void look_up(F*& to, const char* name) noexcept {
  if (void* const found = ::dlsym(RTLD_NEXT, name)) to = reinterpret_cast<F*>(found);
}

// Is the function one of the C++ library's, which allocates by malloc?
bool is_cxx_library(const void* fn) noexcept {
  Dl_info where{};
  if (!fn || ::dladdr(fn, &where) == 0 || !where.dli_fname) return true;
  return std::strstr(where.dli_fname, "libstdc++") || std::strstr(where.dli_fname, "libc++");
}

void find_next() noexcept {
  static bool searching = false;
  if (searching) return;
  searching = true;
  if (::getauxval(AT_BASE) == 0) {  // there is no loader
    next.malloc = __libc_malloc;
    next.calloc = __libc_calloc;
    next.realloc = __libc_realloc;
    next.free = __libc_free;
    next.memalign = next.aligned_alloc = __libc_memalign;
    next.valloc = __libc_valloc;
    next.pvalloc = __libc_pvalloc;
    searching = false;
    return;
  }
  allocator found;
  look_up(found.malloc, "malloc");
  look_up(found.calloc, "calloc");
  look_up(found.realloc, "realloc");
  look_up(found.free, "free");
  look_up(found.memalign, "memalign");
  look_up(found.aligned_alloc, "aligned_alloc");
  look_up(found.posix_memalign, "posix_memalign");
  look_up(found.valloc, "valloc");
  look_up(found.pvalloc, "pvalloc");
  look_up(found.reallocarray, "reallocarray");
  allocator own;
  look_up(own.plain_new, "_Znwm");
  look_up(own.plain_delete, "_ZdlPv");
  look_up(own.aligned_new, "_ZnwmSt11align_val_t");
  look_up(own.aligned_delete, "_ZdlPvSt11align_val_t");
  if (own.plain_delete && !is_cxx_library(reinterpret_cast<const void*>(own.plain_new))) {
    found.plain_new = own.plain_new;
    found.plain_delete = own.plain_delete;
  }
  if (own.aligned_delete && !is_cxx_library(reinterpret_cast<const void*>(own.aligned_new))) {
    found.aligned_new = own.aligned_new;
    found.aligned_delete = own.aligned_delete;
  }
  next = found;
  searching = false;
}

extern "C" {

void* first_malloc(std::size_t n) {
  find_next();
  return next.malloc == first_malloc ? from_arena(n) : next.malloc(n);
}
void* first_calloc(std::size_t n, std::size_t size) {
  find_next();
  if (next.calloc != first_calloc) return next.calloc(n, size);
  std::size_t all = 0;
  return __builtin_mul_overflow(n, size, &all) ? nullptr : from_arena(all);  // which is zero
}
void* first_realloc(void* p, std::size_t n) {
  find_next();
  if (next.realloc != first_realloc) return next.realloc(p, n);
  void* const to = from_arena(n);
  if (to && p) std::memcpy(to, p, n);  // at most what lies behind it in the arena
  return to;
}
void first_free(void* p) {
  find_next();
  if (next.free != first_free) next.free(p);
}
void* first_memalign(std::size_t align, std::size_t n) {
  find_next();
  return next.memalign == first_memalign ? nullptr : next.memalign(align, n);
}
void* first_aligned_alloc(std::size_t align, std::size_t n) {
  find_next();
  return next.aligned_alloc == first_aligned_alloc ? nullptr : next.aligned_alloc(align, n);
}
int first_posix_memalign(void** to, std::size_t align, std::size_t n) {
  find_next();
  if (next.posix_memalign != first_posix_memalign) return next.posix_memalign(to, align, n);
  if (align % sizeof(void*) != 0 || (align & (align - 1)) != 0 || align == 0) return EINVAL;
  void* const p = next.memalign(align, n);
  if (p) *to = p;
  return p ? 0 : ENOMEM;
}
void* first_valloc(std::size_t n) {
  find_next();
  return next.valloc == first_valloc ? nullptr : next.valloc(n);
}
void* first_pvalloc(std::size_t n) {
  find_next();
  return next.pvalloc == first_pvalloc ? nullptr : next.pvalloc(n);
}
void* first_reallocarray(void* p, std::size_t n, std::size_t size) {
  find_next();
  if (next.reallocarray != first_reallocarray) return next.reallocarray(p, n, size);
  std::size_t all = 0;
  return __builtin_mul_overflow(n, size, &all) ? nullptr : ::realloc(p, all);
}

// --- malloc and its family ---------------------------------------------------------------------------

// In a section of their own, so that one can tell whether a name leads to ours.
#define LEAT_WRAPPER [[gnu::weak, gnu::section("leat_heap")]]

LEAT_WRAPPER void* malloc(std::size_t n) noexcept {
  const mark inside;
  return next.malloc(n);
}
LEAT_WRAPPER void* calloc(std::size_t n, std::size_t size) noexcept {
  const mark inside;
  return next.calloc(n, size);
}
LEAT_WRAPPER void* realloc(void* p, std::size_t n) noexcept {
  if (arena_used != 0 && in_arena(p)) [[unlikely]] {
    void* const to = ::malloc(n);
    const auto left = static_cast<std::size_t>(arena + sizeof arena - static_cast<char*>(p));
    if (to) std::memcpy(to, p, n < left ? n : left);
    return to;
  }
  const mark inside;
  return next.realloc(p, n);
}
LEAT_WRAPPER void free(void* p) noexcept {
  if (arena_used != 0 && in_arena(p)) [[unlikely]]
    return;
  const mark inside;
  next.free(p);
}
LEAT_WRAPPER void* memalign(std::size_t align, std::size_t n) noexcept {
  const mark inside;
  return next.memalign(align, n);
}
LEAT_WRAPPER void* aligned_alloc(std::size_t align, std::size_t n) noexcept {
  const mark inside;
  return next.aligned_alloc(align, n);
}
LEAT_WRAPPER int posix_memalign(void** to, std::size_t align, std::size_t n) noexcept {
  const mark inside;
  return next.posix_memalign(to, align, n);
}
LEAT_WRAPPER void* valloc(std::size_t n) noexcept {
  const mark inside;
  return next.valloc(n);
}
LEAT_WRAPPER void* pvalloc(std::size_t n) noexcept {
  const mark inside;
  return next.pvalloc(n);
}
LEAT_WRAPPER void* reallocarray(void* p, std::size_t n, std::size_t size) noexcept {
  if (arena_used != 0 && in_arena(p)) [[unlikely]] {
    std::size_t all = 0;
    return __builtin_mul_overflow(n, size, &all) ? nullptr : ::realloc(p, all);
  }
  const mark inside;
  return next.reallocarray(p, n, size);
}

#undef LEAT_WRAPPER

// Made by the linker.
[[gnu::visibility("hidden")]] extern const char __start_leat_heap[];
[[gnu::visibility("hidden")]] extern const char __stop_leat_heap[];

}  // extern "C"

// Has no other definition of the program taken its place?
template <class F>
bool is_ours(F* f) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(f);
  return at >= reinterpret_cast<std::uintptr_t>(__start_leat_heap) &&
         at < reinterpret_cast<std::uintptr_t>(__stop_leat_heap);
}

// --- operator new and delete -------------------------------------------------------------------------

template <class Allocate>
void* allocate_or_throw(Allocate allocate) {
  for (;;) {
    if (void* const p = allocate()) return p;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

void* make(std::size_t n) {
  if (next.plain_new) {
    const mark inside;
    return next.plain_new(n);
  }
  return allocate_or_throw([n] { return ::malloc(n != 0 ? n : 1); });
}
void* make(std::size_t n, std::align_val_t align) {
  if (next.aligned_new) {
    const mark inside;
    return next.aligned_new(n, align);
  }
  const auto by = static_cast<std::size_t>(align);
  const std::size_t room = (n + by - 1) & ~(by - 1);
  return allocate_or_throw([=] { return room < n ? nullptr : ::aligned_alloc(by, room != 0 ? room : by); });
}
template <class... Args>
void* make_or_null(Args... args) noexcept {
  try {
    return make(args...);
  } catch (...) {
    return nullptr;
  }
}

void unmake(void* p) noexcept {
  if (next.plain_delete) {
    const mark inside;
    return next.plain_delete(p);
  }
  ::free(p);
}
void unmake(void* p, std::align_val_t align) noexcept {
  if (next.aligned_delete) {
    const mark inside;
    return next.aligned_delete(p, align);
  }
  ::free(p);
}

}  // namespace

#define LEAT_WEAK [[gnu::weak]]
LEAT_WEAK void* operator new(std::size_t n) { return make(n); }
LEAT_WEAK void* operator new[](std::size_t n) { return make(n); }
LEAT_WEAK void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return make_or_null(n); }
LEAT_WEAK void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return make_or_null(n); }
LEAT_WEAK void* operator new(std::size_t n, std::align_val_t a) { return make(n, a); }
LEAT_WEAK void* operator new[](std::size_t n, std::align_val_t a) { return make(n, a); }
LEAT_WEAK void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return make_or_null(n, a);
}
LEAT_WEAK void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return make_or_null(n, a);
}
LEAT_WEAK void operator delete(void* p) noexcept { unmake(p); }
LEAT_WEAK void operator delete[](void* p) noexcept { unmake(p); }
LEAT_WEAK void operator delete(void* p, std::size_t) noexcept { unmake(p); }
LEAT_WEAK void operator delete[](void* p, std::size_t) noexcept { unmake(p); }
LEAT_WEAK void operator delete(void* p, const std::nothrow_t&) noexcept { unmake(p); }
LEAT_WEAK void operator delete[](void* p, const std::nothrow_t&) noexcept { unmake(p); }
LEAT_WEAK void operator delete(void* p, std::align_val_t a) noexcept { unmake(p, a); }
LEAT_WEAK void operator delete[](void* p, std::align_val_t a) noexcept { unmake(p, a); }
LEAT_WEAK void operator delete(void* p, std::size_t, std::align_val_t a) noexcept { unmake(p, a); }
LEAT_WEAK void operator delete[](void* p, std::size_t, std::align_val_t a) noexcept { unmake(p, a); }
LEAT_WEAK void operator delete(void* p, std::align_val_t a, const std::nothrow_t&) noexcept { unmake(p, a); }
LEAT_WEAK void operator delete[](void* p, std::align_val_t a, const std::nothrow_t&) noexcept {
  unmake(p, a);
}
#undef LEAT_WEAK

#endif

namespace leat::sched {
namespace {

std::atomic<bool> all_marked{false};

}  // namespace

bool heap_is_marked() noexcept { return all_marked.load(std::memory_order_relaxed); }

// All of them: an allocator that is linked in may bring only some, and is inside itself in those. And as a
// shared library sees it, by the name that is found first.
void find_out_about_heap() noexcept {
#if LEAT_MARKS_HEAP
  void* const p = std::malloc(1);
  std::free(p);
  const bool ours = is_ours(&::malloc) && is_ours(&::calloc) && is_ours(&::realloc) && is_ours(&::free) &&
                    is_ours(&::memalign) && is_ours(&::aligned_alloc) && is_ours(&::posix_memalign) &&
                    is_ours(&::valloc) && is_ours(&::pvalloc) && is_ours(&::reallocarray);
  void* const seen = ::dlsym(RTLD_DEFAULT, "malloc");
  void* const here = reinterpret_cast<void*>(static_cast<void* (*)(std::size_t)>(&::malloc));
  all_marked.store(ours && next.malloc != first_malloc && p && (seen == here || !seen),
                   std::memory_order_relaxed);
#endif
}

}  // namespace leat::sched
