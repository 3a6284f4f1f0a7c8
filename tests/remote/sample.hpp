// SPDX-License-Identifier: BSL-1.0
//
// A state as a deployment tells it: `post` waits for the network, and everybody before it waits for `post`.
#pragma once
#include <string>

namespace leat::remote::test {

inline std::string process_json(const std::string& name, const std::string& process_class,
                                const std::string& more) {
  return R"({"name":"climate/)" + name + R"(","process":"climate/)" + name.substr(0, name.find('/')) +
         R"(","service":"climate","class":")" + process_class + R"(","at":"climate.toml:12",)" + more + "}";
}

inline std::string channel_json(const std::string& name, const std::string& reader, const std::string& more) {
  return R"({"name":"climate/)" + name + R"(","reader":")" + reader +
         R"(","at":"climate.toml:39","message":"sample","full":"block","kind":"single",)" + more + "}";
}

inline const std::string blame_text =
    "climate: 'post' (http-post, climate.toml:41) holds up smooth/0, smooth/1: 93 % of its time it waits for "
    "10.0.0.7:443; its channel 'smoothed' has been full for 12 s";

inline std::string sample_state() {
  return R"({"leat":"0.1.0","api":1,"deployment":"climate","pid":4711,
 "files":[{"path":"/nowhere/climate.toml","digest":"cbf29ce484222325"}],
 "since":"2026-11-17T15:00:00Z","uptime":812.4,"at":812.412,"phase":"running","healthy":true,"why":"",
 "may_change":true,
 "runtime":{"procs":2,"threads":5,"gs":31,"cpu":0.12,"rss":9123456,"delay":{"p50":0.00001,"p99":0.0004}},
 "services":[{"name":"climate","phase":"running","alive":5}],
 "processes":[)" +
         process_json(
             "probe", "ticker-sim",
             R"("replica":null,"state":"computing","waits":null,"incarnation":1,"restarts":0,"failures":0,
    "last_failure":null,"cpu":0.07,"critical":false,"in":[],"out":["climate/raw"],"live":["period"])") +
         "," +
         process_json(
             "smooth/0", "smooth",
             R"("replica":0,"state":"waiting","waits":{"for":"send","channel":"climate/smoothed","peer":"",
    "since":11.4},"incarnation":1,"restarts":0,"cpu":0.004,"in":["climate/raw"],"out":["climate/smoothed"])") +
         "," +
         process_json(
             "smooth/1", "smooth",
             R"("replica":1,"state":"restarting","waits":null,"incarnation":3,"restarts":2,"failures":2,
    "last_failure":{"text":"no \u001b[31msensor","ago":12.0},"cpu":null,"in":["climate/raw"],"out":["climate/smoothed"])") +
         "," +
         process_json(
             "post", "http-post",
             R"("replica":null,"state":"waiting","waits":{"for":"I/O","channel":"","peer":"10.0.0.7:443",
    "since":0.4},"incarnation":1,"restarts":0,"cpu":0.01,"in":["climate/smoothed"],"out":[])") +
         "," +
         process_json(
             "log", "log",
             R"("replica":null,"state":"waiting","waits":{"for":"receive","channel":"climate/smoothed","peer":"",
    "since":3.0},"incarnation":1,"restarts":0,"cpu":0.0,"in":["climate/smoothed"],"out":[])") +
         R"(],
 "channels":[)" +
         channel_json(
             "raw", "",
             R"("capacity":16,"length":3,"copy":false,"sent":100,"received":97,"dropped":0,"high_water":16,
    "rate_in":50.1,"rate_out":49.9,"wait":0.06,"senders_blocked":[],"writers":["climate/probe"],"readers":["climate/smooth"])") +
         "," +
         channel_json(
             "smoothed", "",
             R"("capacity":64,"length":64,"copy":true,"sent":90,"received":10,"dropped":0,"high_water":64,
    "rate_in":0.0,"rate_out":0.0,"wait":null,"full_for":12.0,"senders_blocked":["climate/smooth/0"],
    "writers":["climate/smooth"],"readers":["climate/post","climate/log"])") +
         "," +
         channel_json(
             "smoothed", "climate/post",
             R"("capacity":64,"length":64,"copy":true,"rate_out":0.5,"wait":128.0,"readers":["climate/post"])") +
         "," +
         channel_json(
             "smoothed", "climate/log",
             R"("capacity":64,"length":0,"copy":true,"rate_out":1234567.0,"wait":0.0,"dropped":123456,
    "rate_dropped":3.0,"readers":["climate/log"])") +
         R"(],
 "blame":[{"culprit":"climate/post","class":"http-post","at":"climate.toml:41","victims":["climate/smooth/0"],
  "channel":"climate/smoothed","full_for":12.0,"kind":"network","doing":"waits for 10.0.0.7:443","share":0.93,
  "text":")" +
         blame_text + R"("}]})";
}

inline std::string sample_process() {
  return R"({"name":"climate/post","class":"http-post",
 "settings":[{"name":"url","value":"https://10.0.0.7/in","text":"\"https://10.0.0.7/in\"","live":false,"help":"where to"},
             {"name":"period","value":"250ms","text":"\"250ms\"","live":true,"help":""}],
 "ports":[{"name":"values","direction":"in","channels":["climate/smoothed"]}],
 "trace":["leat::net::stream::read_some() at stream.cpp:88","http_post::run() at http_post.cpp:61"]})";
}

}  // namespace leat::remote::test
