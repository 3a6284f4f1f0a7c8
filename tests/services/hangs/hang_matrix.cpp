// SPDX-License-Identifier: BSL-1.0
//
// A service in which one process hangs in a real library again and again, for hang_matrix.sh:
//   hang-matrix run FILE     kinds of hang: hang-matrix kinds, and hang-matrix left-out
// Every third value makes `hangs` hang, once. `checks` says at the end which values came, and whether a
// thread was stopped inside the allocator.
#include <dlfcn.h>
#include <glob.h>
#include <iconv.h>
#include <netdb.h>
#include <regex.h>
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <locale>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <leat/leat.hpp>
#include <leat/main.hpp>
#include <leat/sched/scheduler.hpp>

#if LEAT_TEST_SQLITE
#include <sqlite3.h>
#endif
#if LEAT_TEST_ZLIB
#include <zlib.h>
#endif
#if LEAT_TEST_LZMA
#include <lzma.h>
#endif
#if LEAT_TEST_OPENSSL
#include <openssl/evp.h>
#endif

extern "C" void vendor_polls_for_ever();
extern "C" bool spy_saw_inside(int tid);

namespace {

constexpr int most_values = 100'000;

struct number {
  int n = 0;
};
LEAT_MESSAGE(number, n);

[[noreturn]] void in_vendor() {
  vendor_polls_for_ever();
  std::abort();
}
[[noreturn]] void in_glob() {
  for (;;) {
    glob_t found{};
    (void)::glob("/usr/include/*/*", 0, nullptr, &found);
    ::globfree(&found);
  }
}
[[noreturn]] void in_regexec() {
  regex_t r{};
  (void)::regcomp(&r, "\\(a*\\)*\\(a*\\)*b\\1\\2", 0);
  const std::string text(40, 'a');
  for (;;) (void)::regexec(&r, text.c_str(), 0, nullptr, 0);
}
[[noreturn]] void in_regcomp() {
  for (;;) {
    regex_t r{};
    if (::regcomp(&r, "((a{1,40}){1,20}|[b-y]{1,50}){1,10}", REG_EXTENDED) == 0) ::regfree(&r);
  }
}
[[noreturn]] void in_std_regex() {
  const std::string text(28, 'a');
  for (;;) (void)std::regex_search(text, std::regex("(a+)+b"));
}
[[noreturn]] void in_iconv() {
  for (;;) {
    const iconv_t c = ::iconv_open("UTF-16", "UTF-8");
    char from[] = "the channel that brings water to a mill", to[256];
    char* in = from;
    char* out = to;
    std::size_t n = sizeof from, room = sizeof to;
    (void)::iconv(c, &in, &n, &out, &room);
    (void)::iconv_close(c);
  }
}
[[noreturn]] void in_getaddrinfo() {
  for (;;) {
    addrinfo* found = nullptr;
    if (::getaddrinfo("localhost", "80", nullptr, &found) == 0) ::freeaddrinfo(found);
  }
}
[[noreturn]] void in_dlopen() {
  (void)::dlopen(LEAT_TEST_CONSTRUCTOR, RTLD_NOW);
  std::abort();
}
[[noreturn]] void in_printf() {
  static FILE* const null = std::fopen("/dev/null", "w");
  for (int i = 0;; ++i) std::fprintf(null, "%d %f %s\n", i, i * 0.5, "text");
}
[[noreturn]] void in_qsort() {
  std::vector<int> many(2000);
  for (;;)
    std::qsort(many.data(), many.size(), sizeof(int), [](const void*, const void*) {
      for (;;) asm volatile("" ::: "memory");
      return 0;
    });
}
[[noreturn]] void in_locale() {
  for (int i = 0;; ++i) {
    std::ostringstream s;
    s.imbue(std::locale("C.UTF-8"));
    s << i << ' ' << i * 0.5;
  }
}
[[noreturn]] void in_strftime() {
  for (std::time_t t = 0;; ++t) {
    std::tm parts{};
    char text[100];
    ::localtime_r(&t, &parts);
    (void)std::strftime(text, sizeof text, "%c %Z", &parts);
  }
}
[[noreturn]] void in_throw() {
  for (int i = 0;; ++i) {
    try {
      throw std::runtime_error(std::string(100, 'x'));
    } catch (const std::exception&) {
    }
  }
}
[[noreturn]] void in_sleep() {
  for (;;) ::sleep(1000);
}
[[noreturn]] void with_signals_blocked() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (;;) asm volatile("" ::: "memory");
}
#if LEAT_TEST_SQLITE
[[noreturn]] void in_sqlite() {
  for (;;) {
    sqlite3* db = nullptr;
    (void)::sqlite3_open(":memory:", &db);
    (void)::sqlite3_exec(db,
                         "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
                         "SELECT count(x || 'text') FROM c",
                         nullptr, nullptr, nullptr);
    (void)::sqlite3_close(db);
  }
}
#endif
#if LEAT_TEST_ZLIB
[[noreturn]] void in_zlib() {
  const std::string from(100'000, 'x');
  for (;;) {
    std::string to(from.size(), '\0');
    auto n = static_cast<uLongf>(to.size());
    (void)::compress2(reinterpret_cast<Bytef*>(to.data()), &n, reinterpret_cast<const Bytef*>(from.data()),
                      from.size(), 9);
  }
}
#endif
#if LEAT_TEST_LZMA
[[noreturn]] void in_lzma() {
  const std::string from(10'000, 'x');
  for (;;) {
    std::string to(20'000, '\0');
    std::size_t at = 0;
    (void)::lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(from.data()), from.size(),
                                    reinterpret_cast<std::uint8_t*>(to.data()), &at, to.size());
  }
}
#endif
#if LEAT_TEST_OPENSSL
[[noreturn]] void in_openssl() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  const std::string from(1000, 'x');
  for (;;) {
    EVP_MD_CTX* const c = ::EVP_MD_CTX_new();
    unsigned n = 0;
    (void)::EVP_DigestInit_ex(c, ::EVP_sha256(), nullptr);
    (void)::EVP_DigestUpdate(c, from.data(), from.size());
    (void)::EVP_DigestFinal_ex(c, digest, &n);
    ::EVP_MD_CTX_free(c);
  }
}
#endif

struct kind {
  const char* name;
  void (*hang)();
};
constexpr kind kinds[] = {
    {"vendor", in_vendor},
    {"glob", in_glob},
    {"regexec", in_regexec},
    {"regcomp", in_regcomp},
    {"std-regex", in_std_regex},
    {"iconv", in_iconv},
    {"getaddrinfo", in_getaddrinfo},
    {"dlopen", in_dlopen},
    {"printf", in_printf},
    {"qsort", in_qsort},
    {"locale", in_locale},
    {"strftime", in_strftime},
    {"throw", in_throw},
    {"sleep", in_sleep},
    {"blocked-signals", with_signals_blocked},
#if LEAT_TEST_SQLITE
    {"sqlite", in_sqlite},
#endif
#if LEAT_TEST_ZLIB
    {"zlib", in_zlib},
#endif
#if LEAT_TEST_LZMA
    {"lzma", in_lzma},
#endif
#if LEAT_TEST_OPENSSL
    {"openssl", in_openssl},
#endif
};

// Those whose library this was built without.
constexpr const char* left_out[] = {
#if !LEAT_TEST_SQLITE
    "sqlite",
#endif
#if !LEAT_TEST_ZLIB
    "zlib",
#endif
#if !LEAT_TEST_LZMA
    "lzma",
#endif
#if !LEAT_TEST_OPENSSL
    "openssl",
#endif
    nullptr};

std::atomic<bool> seen[most_values];
std::atomic<unsigned char> came[most_values];
std::atomic<int> hung{0}, sent{0};

class counts : public leat::process {
  leat::out<number> to{this, "to"};
  void run() override {
    for (int n = sent + 1; n < most_values; ++n) {
      if (to.send({n}) != leat::send_status::sent) return;
      sent = n;
      (void)leat::sleep_for(std::chrono::microseconds(500));
    }
  }
};

class hangs : public leat::process {
  leat::in<number> from{this, "from"};
  leat::out<number> to{this, "to"};
  leat::setting<std::string> where{this, "where", "vendor", "what it hangs in"};
  leat::setting<int> times{this, "times", 50, "how often"};
  void run() override {
    const kind* k = nullptr;
    for (const kind& x : kinds)
      if (where.get() == x.name) k = &x;
    if (!k) throw std::runtime_error("there is no hang '" + where.get() + "'");
    for (const number v : from) {
      if (v.n % 3 == 0 && !seen[v.n].exchange(true) && hung < times) {
        ++hung;
        k->hang();
      }
      if (to.send(v) != leat::send_status::sent) return;
      static std::atomic<bool> said{false};
      if (hung == times && !said.exchange(true)) (void)!::write(1, "all have hung\n", 14);
    }
  }
};

class checks : public leat::process {
  leat::in<number> from{this, "from"};
  void run() override {
    for (const number v : from) ++came[v.n];
    int lost = 0, twice = 0, inside = 0;
    for (int n = 1; n <= sent; ++n) {
      lost += came[n] == 0;
      twice += came[n] > 1;
    }
    const leat::runtime_stats s = leat::stats();
    leat::sched::scheduler::current()->threads().each(
        [&](leat::sched::M& m) { inside += m.hung.frozen.load() && spy_saw_inside(m.tid.load()); });
    char text[200];
    const int n =
        std::snprintf(text, sizeof text,
                      "%d hung, %d sent, %d lost, %d twice, %d stopped inside the allocator; fenced %u, "
                      "frozen %u, quarantined %llu\n",
                      hung.load(), sent.load(), lost, twice, inside, s.fenced, s.frozen,
                      static_cast<unsigned long long>(s.quarantined));
    (void)!::write(1, text, static_cast<std::size_t>(n));
  }
};

}  // namespace

LEAT_PROCESS(counts, "counts");
LEAT_PROCESS(hangs, "hangs with every third value, once");
LEAT_PROCESS(checks, "says what came");

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "kinds") == 0) {
    for (const kind& k : kinds) std::puts(k.name);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "left-out") == 0) {
    for (const char* const* name = left_out; *name; ++name) std::puts(*name);
    return 0;
  }
  return leat::main(argc, argv);
}
