// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/many.hpp>

#include <leat/csp/plain_wait.hpp>

// A processor predicts a return by the calls that it has seen. After a switch those are the calls of the G
// that was left: unless that one stood at the same place, the return is mispredicted (20 cycles; two of them
// are a seventh of a round trip between two Gs). An indirect jump is predicted by where it went before, which
// is right where Gs take turns. Only for a function that returns after a switch: otherwise the return of its
// caller would be mispredicted. For x86-64, by GCC, which has an attribute for it.
// Not where shadow stacks are kept: they know of returns alone.
#if defined(__x86_64__) && defined(__LP64__) && !defined(__clang__) && !defined(__code_model_large__) && \
    !(defined(__CET__) && (__CET__ & 2))
#define LEAT_RETURNS_BY_JUMP [[gnu::function_return("thunk-extern")]]
// What such functions end with; the compiler knows it by this name, and may have one of its own.
asm(R"(
  .pushsection .text.__x86_return_thunk, "axG", @progbits, __x86_return_thunk, comdat
  .globl __x86_return_thunk
  .hidden __x86_return_thunk
  .type __x86_return_thunk, @function
__x86_return_thunk:
  .cfi_startproc
  pop %rcx
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rcx
  notrack jmp *%rcx
  .cfi_endproc
  .size __x86_return_thunk, . - __x86_return_thunk
  .popsection
)");
#else
#define LEAT_RETURNS_BY_JUMP
#endif

namespace leat::csp {

namespace {

recv_status received_by(ending e) noexcept {
  if (e == ending::done) [[likely]]
    return recv_status::received;
  if (e == ending::closed) return recv_status::closed;
  return e == ending::stopped ? recv_status::stopped : recv_status::timeout;
}

send_status sent_by(ending e) noexcept {
  if (e == ending::done) [[likely]]
    return send_status::sent;
  if (e == ending::closed) return send_status::closed;
  return e == ending::stopped ? send_status::stopped : send_status::timeout;
}

}  // namespace

many_base::many_base(inlined as, std::size_t capacity, const channel_options& o)
    : channel_base(as, capacity, o) {
  lock_.bias_if_alone();
}

// The pointer to what was allocated lies before the object.
void* many_base::operator new(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
  void* const piece = ::operator new(size + align);
  const auto end_of_room = reinterpret_cast<std::uintptr_t>(piece) + align;
  auto* const at = reinterpret_cast<void**>(end_of_room - end_of_room % align);
  at[-1] = piece;
  return at;
}

void many_base::operator delete(void* p, std::align_val_t) noexcept {
  if (p) ::operator delete(static_cast<void**>(p)[-1]);
}

LEAT_RETURNS_BY_JUMP recv_status many_base::wait_to_receive(entrance in, void* to,
                                                            without_end) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (!in.m) [[unlikely]]
    return wait_to_receive(in, to, forever);
  const recv_status s =
      received_by(wait_plain_biased(in, lock_, receivers_, to, wait_reason::receive, c_name()));
  in.leave();
  if (s == recv_status::stopped) [[unlikely]]
    throw_if_insisted();
  return s;
}

LEAT_RETURNS_BY_JUMP send_status many_base::wait_to_send(entrance in, void* from,
                                                         without_end) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (!in.m) [[unlikely]]
    return wait_to_send(in, from, forever);
  const send_status s = sent_by(wait_plain_biased(in, lock_, senders_, from, wait_reason::send, c_name()));
  in.leave();
  if (s == send_status::stopped) [[unlikely]]
    throw_if_insisted();
  return s;
}

// Not inlined: the frames above are passed through with every value, and these need more.
[[gnu::noinline]] recv_status many_base::wait_to_receive(entrance in, void* to,
                                                         std::int64_t until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (waits_plainly(in, until)) return wait_to_receive(in, to, without_end{});
  const recv_status s = wait_to_receive_inside(in, to, until);
  in.leave();
  if (s == recv_status::stopped) throw_if_insisted();
  return s;
}

[[gnu::noinline]] send_status many_base::wait_to_send(entrance in, void* from,
                                                      std::int64_t until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (waits_plainly(in, until)) return wait_to_send(in, from, without_end{});
  const send_status s = wait_to_send_inside(in, from, until);
  in.leave();
  if (s == send_status::stopped) throw_if_insisted();
  return s;
}

recv_status many_base::wait_to_receive_inside(entrance& in, void* to,
                                              std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  return received_by(wait_and_unlock(in, lock_, receivers_, to, wait_reason::receive, until, c_name()));
}

send_status many_base::wait_to_send_inside(entrance& in, void* from,
                                           std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  return sent_by(wait_and_unlock(in, lock_, senders_, from, wait_reason::send, until, c_name()));
}

}  // namespace leat::csp
