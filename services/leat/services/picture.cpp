// SPDX-License-Identifier: BSL-1.0
#include <leat/services/picture.hpp>

#include <algorithm>

#include <leat/base/units.hpp>
#include <leat/config/graph.hpp>

namespace leat::services {
namespace {

using config::index;

// "single 256, drop-oldest"
std::string how(const config::plan& plan, const config::channel_plan& c) {
  const leat::flavour f = config::choose_flavour(plan, c);
  std::string text = to_string(f);
  if (f == leat::flavour::latest_by_key)
    text += ' ' + std::to_string(c.keys);
  else if (f == leat::flavour::stored)
    text += ' ' + format_size(c.store->max);
  else if (f != leat::flavour::rendezvous && f != leat::flavour::latest)
    text += ' ' + std::to_string(c.capacity);
  if (!c.key.empty()) text += " by " + c.key;
  if (f != leat::flavour::broadcast && f != leat::flavour::latest && f != leat::flavour::latest_by_key)
    text += std::string(", ") + to_string(config::effective_policy(c));
  return text;
}

std::string end_name(const config::plan& plan, const config::endpoint& e) {
  const config::process_plan& p = plan.processes[e.process];
  return p.name + '.' + p.ports[e.port].schema->name;
}

std::string with_replicas(const config::process_plan& p) {
  return p.replicas > 1 ? " x" + std::to_string(p.replicas) : "";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Mermaid's own syntax must not be met in a label.
std::string plain(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '"' || c == '[' || c == ']' || c == '|'; }, ' ');
  return out;
}

std::vector<index> sources_first(const config::plan& plan) {
  std::vector<index> order = config::sinks_first(plan);
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

std::string text_picture(const config::plan& plan) {
  std::string text;
  const std::vector<index> order = sources_first(plan);
  for (index s = 0; s < plan.services.size(); ++s) {
    text += "service " + plan.services[s].name + '\n';
    for (const index i : order) {
      const config::process_plan& p = plan.processes[i];
      if (p.service != s) continue;
      text += "  " + p.name + " (" + p.type->name + ')' + with_replicas(p) + '\n';
      for (const config::port_plan& port : p.ports) {
        if (port.schema->direction != port_direction::out) continue;
        if (port.channels.empty()) text += "    ." + port.schema->name + "  not connected\n";
        for (const index ci : port.channels) {
          const config::channel_plan& c = plan.channels[ci];
          text += "    ." + port.schema->name + " --> " + (c.service == s ? c.name : plan.full_name(c)) +
                  " [" + how(plan, c) + ", " + c.message + "]";
          for (std::size_t r = 0; r < c.readers.size(); ++r) {
            text += (r == 0 ? " --> " : ", ") + end_name(plan, c.readers[r]);
            if (config::choose_flavour(plan, c) == leat::flavour::broadcast)
              text += std::string(" (") + to_string(c.readers[r].full) + ')';
          }
          text += '\n';
        }
      }
    }
  }
  return text;
}

std::string dot_picture(const config::plan& plan) {
  std::string text = R"(digraph leat {
  graph [rankdir=LR, ranksep=0.25, nodesep=0.2, fontname="sans-serif", fontsize=12, color="#9aa5b1"];
  node [shape=box, style="rounded,filled", fillcolor="#e6effa", color="#41668f", fontname="sans-serif",
        fontsize=12, margin="0.1,0.05"];
  edge [fontname="sans-serif", fontsize=9, color="#555555", arrowsize=0.6];
)";
  for (index s = 0; s < plan.services.size(); ++s) {
    text += "  subgraph cluster_" + std::to_string(s) + " {\n    label=\"" + escaped(plan.services[s].name) +
            "\";\n";
    for (index i = 0; i < plan.processes.size(); ++i) {
      const config::process_plan& p = plan.processes[i];
      if (p.service == s)
        text += "    p" + std::to_string(i) + " [label=\"" + escaped(p.name + with_replicas(p)) + "\\n" +
                escaped(p.type->name) + "\"];\n";
    }
    text +=
        "    node [shape=ellipse, style=filled, fillcolor=\"#f4f4f2\", color=\"#9a9a92\", fontsize=11, "
        "margin=\"0.02,0.02\"];\n";
    for (index i = 0; i < plan.channels.size(); ++i) {
      const config::channel_plan& c = plan.channels[i];
      if (c.service == s)
        text += "    c" + std::to_string(i) + " [label=\"" + escaped(c.name) + "\\n" + escaped(how(plan, c)) +
                "\"];\n";
    }
    text += "  }\n";
  }
  for (index i = 0; i < plan.channels.size(); ++i) {
    const config::channel_plan& c = plan.channels[i];
    const std::string node = "c" + std::to_string(i);
    const auto label = [&](const config::endpoint& e) {
      return " [label=\"" + escaped(plan.processes[e.process].ports[e.port].schema->name) + "\"];\n";
    };
    for (const config::endpoint& e : c.writers)
      text += "  p" + std::to_string(e.process) + " -> " + node + label(e);
    for (const config::endpoint& e : c.readers)
      text += "  " + node + " -> p" + std::to_string(e.process) + label(e);
  }
  return text + "}\n";
}

std::string mermaid_picture(const config::plan& plan) {
  std::string text = "flowchart LR\n";
  for (index s = 0; s < plan.services.size(); ++s) {
    text += "  subgraph s" + std::to_string(s) + "[\"" + plain(plan.services[s].name) + "\"]\n";
    for (index i = 0; i < plan.processes.size(); ++i) {
      const config::process_plan& p = plan.processes[i];
      if (p.service == s)
        text += "    p" + std::to_string(i) + "[\"" + plain(p.name + with_replicas(p)) + "<br>" +
                plain(p.type->name) + "\"]\n";
    }
    text += "  end\n";
  }
  for (const config::channel_plan& c : plan.channels)
    for (const config::endpoint& w : c.writers)
      for (const config::endpoint& r : c.readers)
        text += "  p" + std::to_string(w.process) + " -->|\"" + plain(c.name + ": " + how(plan, c)) +
                "\"| p" + std::to_string(r.process) + '\n';
  return text;
}

}  // namespace leat::services
