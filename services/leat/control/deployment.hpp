// SPDX-License-Identifier: BSL-1.0
//
// What the control door needs of what runs behind it. All of it may be called on any G, by many at once.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <leat/control/view.hpp>
#include <leat/csp/tap.hpp>
#include <leat/remote/json.hpp>

namespace leat::control {

using remote::json;
using remote::json_result;
using remote::read_json;

// What came of a wish: an HTTP status and a JSON text.
struct outcome {
  std::string_view status = "200 OK";
  std::string json = "{}";
};
// With `{"error": text}`.
outcome refused(std::string_view status, std::string_view text);

// Whether a value, as JSON, is one to be shown. One G.
using tap_filter = std::function<bool(std::string_view value)>;

class deployment {
 public:
  virtual deployment_view look() = 0;
  // What /live and /ready need of it, for probes that come all the time.
  struct health_view {
    bool live = true, ready = true;
    std::string why = {};
  };
  virtual health_view health() = 0;
  // GET /v1/process
  virtual outcome process(std::string_view name) = 0;
  // All Gs, as SIGQUIT writes them.
  virtual std::string dump() = 0;

  // A channel that can be looked into; `channel` becomes its full name. Null: there is none of that name, or
  // its values have no text; then `why` says so.
  virtual std::unique_ptr<csp::tap_view> tap(std::string& channel, double most_per_second, outcome& why) = 0;

  // Of an expression (docs/expressions.md), one of `of` that share what a tap may remember. Null: it is wrong, and
  // `why` says where.
  virtual tap_filter filter(std::string_view expression, std::size_t of, outcome& why) = 0;

  // `value`: JSON. `wait`: seconds for room.
  virtual outcome inject(std::string_view channel, std::string_view value, double wait) = 0;
  virtual outcome restart(std::string_view process) = 0;
  // `changes`: a table. `whole`: the text that it was read from.
  virtual outcome set(std::string_view process, const json& changes, bool may_restart) = 0;
  virtual outcome log(std::string_view level, std::string_view process) = 0;
  virtual outcome stop(bool now) = 0;

 protected:
  virtual ~deployment() = default;
};

}  // namespace leat::control
