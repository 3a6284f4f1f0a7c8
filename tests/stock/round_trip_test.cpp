// SPDX-License-Identifier: BSL-1.0
//
// Messages of 200 generated types become JSON and CBOR, records, lines and files of the stock sinks, and messages
// again: they are equal, or something has told by its name what was lost.
#include <doctest/doctest.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include <leat/net.hpp>
#include <leat/stock/line_format.hpp>

#include "stock/fixture.hpp"
#include "stock/generated_shapes.hpp"

namespace leat::stock::test {
namespace {

constexpr std::size_t types = 200, values_of_each = 6;

struct named_losses : conversion_losses {
  void unknown_field(std::string_view path) override { unknown.emplace_back(path); }
  void rough_number(std::string_view path) override { rough.emplace_back(path); }
  std::vector<std::string> unknown = {}, rough = {};
};

// A message of some type, and what becomes of it.
struct sample {
  std::string json;
  std::vector<std::uint8_t> cbor;
  record as_record;
  bool is_rough = false;  // a record cannot tell one of its numbers, and has said which
  // The JSON of the message that this record is, or what is wrong with it.
  std::string (*again)(const record& r) = nullptr;
};

template <class T>
std::string message_of(const record& r) {
  try {
    named_losses losses;
    T v{};
    from_record(shape_of<T>(), &v, r, &losses);
    return losses.unknown.empty() ? to_json(v) : "unknown: " + losses.unknown.front();
  } catch (const message_error& e) {
    return e.what();
  }
}

template <class T>
std::vector<sample> samples_of(std::uint32_t seed) {
  random_values random(seed);
  std::vector<sample> all;
  while (all.size() < values_of_each) {
    T v{};
    random.fill(shape_of<T>(), &v);
    named_losses losses;
    sample s{to_json(v), to_cbor(v), to_record(shape_of<T>(), &v, &losses), false, &message_of<T>};
    s.is_rough = !losses.rough.empty();
    CHECK(losses.unknown.empty());
    CHECK((from_json<T>(s.json), to_json(from_json<T>(s.json))) == s.json);
    CHECK(to_json(from_cbor<T>(s.cbor)) == s.json);
    all.push_back(std::move(s));
  }
  return all;
}

template <std::size_t... I>
std::vector<std::vector<sample>> make_samples(std::index_sequence<I...>) {
  return {samples_of<shape<I + 1>>(I + 1)...};
}
// By their type.
const std::vector<std::vector<sample>>& samples() {
  static const auto all = make_samples(std::make_index_sequence<types>());
  return all;
}
std::vector<sample> exact_samples() {
  std::vector<sample> all;
  for (const std::vector<sample>& of_type : samples())
    for (const sample& s : of_type)
      if (!s.is_rough) all.push_back(s);
  return all;
}

std::vector<record> read_back(const std::string& text, line_form form) {
  std::vector<record> all;
  line_options o;
  o.form = form;
  o.longest = text.size() + 1;
  line_parser lines(o, [&](line_event e) {
    CHECK(e.bad == "");
    all.push_back(std::move(e.value));
    return true;
  });
  (void)lines.feed(text);
  (void)lines.finish();
  return all;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

std::string written_lines(const std::vector<sample>& all) {
  std::string text;
  for (const sample& s : all) text += s.json + '\n';
  return text;
}

template <class T>
std::string description_of() {
  std::string text;
  for (const record_field& f : record_fields(shape_of<T>()))
    text += f.name + ':' + to_string(f.kind) + (f.optional ? "?" : "") + ' ';
  return text;
}
template <std::size_t... I>
std::size_t different_types(std::index_sequence<I...>) {
  return std::set<std::string>{description_of<shape<I + 1>>()...}.size();
}

// All of them through a class, which ends when its input does.
void send_all(rig& r, const leat::channel<record>& in, const std::vector<sample>& all) {
  r.start();
  for (const sample& s : all) CHECK(in.send_until(s.as_record, patience) == send_status::sent);
  in.close();
  CHECK(r.wait() == ended::returned);
}

TEST_CASE("the generated types differ, and some have numbers that a record cannot tell") {
  CHECK(different_types(std::make_index_sequence<types>()) > types * 3 / 4);
  std::size_t rough = 0, all = 0;
  for (const std::vector<sample>& of_type : samples())
    for (const sample& s : of_type) {
      rough += s.is_rough;
      ++all;
    }
  CHECK(all == types * values_of_each);
  CHECK(rough > 0);
  CHECK(rough < all / 4);
}

TEST_CASE("a record is written as its message is, and becomes it again") {
  for (const std::vector<sample>& of_type : samples())
    for (const sample& s : of_type) {
      const record json = from_json<record>(s.json), cbor = from_cbor<record>(s.cbor);
      if (s.is_rough) {
        // It has been told, and is not taken for exact.
        CHECK(s.again(s.as_record) != s.json);
        continue;
      }
      CHECK(to_json(s.as_record) == s.json);
      CHECK(to_json(json) == s.json);
      CHECK(s.again(s.as_record) == s.json);
      CHECK(s.again(json) == s.json);
      CHECK(s.again(cbor) == s.json);
      CHECK(to_json(from_cbor<record>(to_cbor(s.as_record))) == s.json);
    }
}

TEST_CASE("the recorder and line-writer write JSON byte for byte") {
  run_clean(with_procs(2), [] {
    const std::vector<sample> all = exact_samples();
    const temp_folder place;
    rig recorder("recorder"), writer("line-writer");
    const auto recorded = recorder.channel("values", 16), lines = writer.channel("values", 16);
    recorder.set("folder", place / "records").set("format", "json");
    writer.set("to", "file:" + (place / "lines")).set("format", "json");
    send_all(recorder, recorded, all);
    send_all(writer, lines, all);
    CHECK(content(place / "records/records-000001.jsonl") == written_lines(all));
    const std::string text = content(place / "lines");
    CHECK(text == written_lines(all));
    const std::vector<record> again = read_back(text, line_form::json);
    REQUIRE(again.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].again(again[i]) == all[i].json);
  });
}

TEST_CASE("another program gets the same JSON, and what it answers are the same records") {
  run_clean(with_procs(2), [] {
    const std::vector<sample> all = exact_samples();
    const temp_folder place;
    rig r("exec");
    const auto in = r.channel("values", 4);
    const auto out = r.channel("out", all.size());
    r.set("command", std::vector<std::string>{"tee", place / "copy"}).set("format", "json");
    send_all(r, in, all);
    CHECK(content(place / "copy") == written_lines(all));
    const std::vector<record> again = drained(out);
    REQUIRE(again.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i].again(again[i]) == all[i].json);
  });
}

TEST_CASE("a server is posted the same JSON") {
  run_clean(with_procs(2), [] {
    const std::vector<sample> all = exact_samples();
    net::listener at = net::listen("127.0.0.1:0");
    std::string posted;
    task_group server;
    server.go([&] {
      net::stream peer = at.accept();
      for (std::string head; peer.read_until(head, "\r\n\r\n", patience);) {
        const std::size_t length = head.find("Content-Length: ");
        std::string body(length == std::string::npos ? 0 : std::stoul(head.substr(length + 16)), '\0');
        peer.read_exactly(body, patience);
        posted += body + '\n';
        std::error_code ignored;
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", ignored, patience);
      }
    });
    rig r("http-post");
    const auto in = r.channel("values", 4);
    r.set("url", "http://" + at.local().text() + "/in");
    send_all(r, in, all);
    r.destroy();
    at.shutdown();
    (void)server.wait();
    CHECK(posted == written_lines(all));
  });
}

TEST_CASE("a browser is shown the same JSON") {
  run_clean(with_procs(2), [] {
    const std::vector<sample> all = exact_samples();
    log_reader log;
    rig r("http-json");
    const auto in = r.channel("values", 4);
    r.set("listen", "127.0.0.1:0").set("history", std::int64_t{100'000}).start();
    for (const sample& s : all) CHECK(in.send_until(s.as_record, patience) == send_status::sent);
    REQUIRE(eventually([&] { return log.has("on http://"); }));
    std::string address = log.after("on http://");
    address.pop_back();  // its slash
    std::string wanted = "[";
    for (const sample& s : all) wanted += (wanted.size() > 1 ? ",\n" : "") + s.json;
    CHECK(eventually([&] {
      net::stream peer = net::dial(address, patience);
      peer.write("GET /history HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", patience);
      std::string answer, bytes(4096, '\0');
      std::error_code ec;
      while (const std::size_t n = peer.read_some(bytes, ec)) answer.append(bytes, 0, n);
      const std::size_t body = answer.find("\r\n\r\n");
      return body != std::string::npos && answer.substr(body + 4) == wanted + "]\n";
    }));
    in.close();
    CHECK(r.wait() == ended::returned);
  });
}

TEST_CASE("the recorder's CSV becomes the messages again, but for line breaks, which are told") {
  run_clean(with_procs(2), [] {
    for (const std::vector<sample>& of_type : samples()) {
      std::vector<sample> all;
      for (const sample& s : of_type)
        if (!s.is_rough) all.push_back(s);
      log_reader log;
      const temp_folder place;
      rig r("recorder");
      const auto in = r.channel("values", 16);
      r.set("folder", place.path());
      send_all(r, in, all);
      std::vector<std::filesystem::path> files;
      for (const auto& e : std::filesystem::directory_iterator(place.path())) files.push_back(e.path());
      std::sort(files.begin(), files.end());
      std::vector<record> again;
      for (const auto& f : files)
        std::ranges::copy(read_back(content(f), line_form::csv), std::back_inserter(again));
      REQUIRE(again.size() == all.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_one_line = all[i].json.find("a\\nb") == std::string::npos;
        CHECK((all[i].again(again[i]) == all[i].json) == is_one_line);
        if (!is_one_line) CHECK(log.has("recorder: changed: a line break in '"));
      }
    }
  });
}

TEST_CASE("CSV with the columns of the first record tells what has none, and keeps the rest") {
  std::size_t lost = 0, kept = 0;
  for (const std::vector<sample>& of_type : samples()) {
    line_options o;
    o.form = line_form::csv;
    line_maker maker(o, "line");
    std::string text;
    std::vector<const sample*> whole;
    for (const sample& s : of_type) {
      if (s.is_rough) continue;
      std::string row;
      CHECK(maker.add(s.as_record, row) == "");
      if (maker.left_out() > 0) {
        CHECK(field_path::parse(maker.first_left_out()).find(s.as_record) != nullptr);
        ++lost;
        continue;
      }
      text += row;
      whole.push_back(&s);
    }
    const std::vector<record> again = read_back(maker.header() + text, line_form::csv);
    REQUIRE(again.size() == whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(whole[i]->again(again[i]) == whole[i]->json);
    kept += whole.size();
  }
  CHECK(lost > 0);
  CHECK(kept > lost);
}

}  // namespace
}  // namespace leat::stock::test
