// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <span>
#include <string>

namespace leat {

class text_buffer;

// A line for each, innermost first: number, address, demangled function and offset where they are known, else
// file and offset as addr2line wants them. Names come from the loader, and of what is not exported from the
// symbol table of the file (symbols.hpp).
std::string to_text(std::span<void* const> trace);

// In one line: "spin()+0x10 < meter::run()+0x2c < ..."; empty for an empty trace.
std::string to_line(std::span<void* const> trace);

namespace sched {

// One such line without number and line end. `raw`: as append_place; `plain`: by the loader, which may wait
// for its lock; `demangled`: allocates besides, and reads files.
enum class frame_names : unsigned char { raw, plain, demangled };
void append_frame(text_buffer& to, void* pc, frame_names names) noexcept;

// As file and offset only, from what note_modules has seen. Async-signal-safe.
void append_place(text_buffer& to, void* pc) noexcept;
// The files that are loaded now. Once per program; later calls do nothing.
void note_modules() noexcept;

}  // namespace sched
}  // namespace leat
