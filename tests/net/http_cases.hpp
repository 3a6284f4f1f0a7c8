// SPDX-License-Identifier: BSL-1.0
//
// Heads of requests and responses with the verdict that RFC 9112 and the ways in which requests are smuggled
// past a proxy ask for: data for a test, and where the fuzzers begin.
#pragma once
#include <cstdint>
#include <string_view>

namespace leat::net::http::test {

using namespace std::string_view_literals;

struct request_case {
  std::string_view text;
  std::string_view status = "";  // of the refusal; "": it is read
  std::uint64_t body = 0;
};

inline constexpr std::string_view bad = "400 Bad Request", no_coding = "501 Not Implemented",
                                  no_version = "505 HTTP Version Not Supported";

// Behind each "host": the line ends of a whole head. Numbers are sections of RFC 9112.
inline constexpr request_case request_cases[] = {
    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"POST /x?y HTTP/1.1\r\nHost: a:80\r\nContent-Length: 5\r\n\r\n", "", 5},
    {"POST / HTTP/1.1\r\nhost:a\r\nCONTENT-LENGTH:\t007\t\r\n\r\n", "", 7},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n", "", UINT64_MAX},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n"},
    {"GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"},
    {"GET / HTTP/1.0\r\n\r\n"},
    {"GET / HTTP/1.9\r\nHost: a\r\n\r\n"},
    {"GET http://a:1/b HTTP/1.1\r\nHost: other\r\n\r\n"},
    {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \xe4 \t\"q\"\r\nY:\r\n\r\n"},
    // 2.2: line ends, blanks before the first field
    {"GET / HTTP/1.1\nHost: a\n\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\n\n", bad},
    {"GET / HTTP/1.1\rHost: a\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\n\tX: b\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\nTransfer-Encoding: chunked\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\0c\r\n\r\n"sv, bad},
    // 3: the request line
    {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", bad},
    {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET /\x0b HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET ?a HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET /\r\n\r\n", bad},
    {"GET\r\n\r\n", bad},
    {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET / http/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/01.1\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1,1\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", no_version},
    {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", no_version},
    {"PRI * HTTP/2.0\r\n\r\n", bad},
    // 3.2: target and host
    {"GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET http://a@b/ HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", bad},
    {"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a?b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: \xe4\r\n\r\n", bad},
    // 5.1, 5.2: fields
    {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\t: chunked\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\r\n : chunked\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n Transfer-Encoding: chunked\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n"sv, bad},
    {"GET / HTTP/1.1\r\nHost: a\r\n\xc3\xa4: b\r\n\r\n", bad},
    {"GET / HTTP/1.1\r\nHost: a\r\nX: \x7f\r\n\r\n", bad},
    // 6.1: codings. None is spoken; both codings and a length are a fault
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", no_coding},
    {"POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING: Chunked\r\n\r\n", no_coding},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", no_coding},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", no_coding},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, x\r\n\r\n", no_coding},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", no_coding},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n", no_coding},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\x0b chunked\r\n\r\n", bad},
    {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", no_coding},
    {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: x\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nTransfer-Encoding:\r\n\r\n", bad},
    // 6.2, 6.3: lengths
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\ncontent-length: 4\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4, 4\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4 5\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4;\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -0\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x4\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4.0\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1e1\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \"4\"\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \x0b"
     "4\r\n\r\n",
     bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", bad},
    {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n", bad},
};

struct response_case {
  std::string_view text;
  int status = 0;  // 0: it is no response
  bool keeps = false;
  std::uint64_t body = 0;
};

inline constexpr response_case response_cases[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, true, 5},
    {"HTTP/1.1 200 \r\ncontent-length:0\r\n\r\n", 200, true},
    {"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n", 200, true, 1},
    {"HTTP/1.1 404 Not Found\r\nServer: x\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n", 404, true,
     3},
    {"HTTP/1.1 204 No Content\r\n\r\n", 204, true},
    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, true},
    {"HTTP/1.1 100 Continue\r\n\r\n", 100, true},
    {"HTTP/1.1 599 \xe4\r\nContent-Length: 0\r\n\r\n", 599, true},
    // The end of the connection is the end of the body, or may be.
    {"HTTP/1.1 200 OK\r\n\r\n", 200},
    {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: x\r\nConnection: y, Close\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200},
    // 6.3: whose length can be read in two ways
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nX: a\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nX: a\rTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nX: a\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", 200},
    {"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n", 200},
    {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204},
    {"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 204},
    {"HTTP/1.1 200 O\0K\r\nContent-Length: 5\r\n\r\n"sv, 200},
    // No response at all
    {"HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\n"},
    {"HTTP/1.1 200OK\r\nContent-Length: 5\r\n\r\n"},
    {"HTTP/1.1 20 OK\r\n\r\n"},
    {"HTTP/1.1 -20 OK\r\n\r\n"},
    {"HTTP/1.1 099 OK\r\n\r\n"},
    {"HTTP/1.1 600 OK\r\n\r\n"},
    {"HTTP/1.1  200 OK\r\n\r\n"},
    {"HTTP/1.x 200 OK\r\n\r\n"},
    {"HTTP/2.0 200 OK\r\n\r\n"},
    {"http/1.1 200 OK\r\n\r\n"},
    {"\r\nHTTP/1.1 200 OK\r\n\r\n"},
    {"SSH-2.0-x\r\n\r\n"},
    {"\r\n\r\n"},
};

}  // namespace leat::net::http::test
