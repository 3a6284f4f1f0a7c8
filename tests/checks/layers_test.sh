#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
source "$(dirname "$0")/support.sh"
layers() { bash "$root/cmake/check_layers.sh" "$tree"; }

# violation FILE INCLUDE TEXT: FILE alone, with INCLUDE in line 2, fails there and says TEXT.
violation() {
  fresh
  put "$1" "// first line
#include $2"
  expect 1 "$1:2: " layers
  expect 1 "$3" layers
}

# allowed FILE INCLUDE
allowed() {
  fresh
  put "$1" "#include $2"
  expect 0 'no forbidden include' layers
}

fresh
put framework/leat/sched/a.hpp 'class a {
  friend class b;
};'
expect 1 'framework/leat/sched/a.hpp:2:' layers
expect 1 'makes another its friend' layers
for friend in 'friend b;' 'friend struct sched::b;'; do
  fresh
  put framework/leat/sched/a.cpp "class a {
  $friend
};"
  expect 1 'framework/leat/sched/a.cpp:2:' layers
done
fresh
put framework/leat/csp/a.hpp 'class a {
  friend class b;
};'
expect 0 'no forbidden include' layers

violation framework/leat/base/a.hpp '<leat/fiber/fiber.hpp>' '`base` must not include `fiber`; it may include: nothing'
violation framework/leat/fiber/a.hpp '<leat/sched/g.hpp>' '`fiber` must not include `sched`'
violation framework/leat/sched/a.cpp '<leat/csp/channel.hpp>' '`sched` must not include `csp`'
violation framework/leat/sched/a.cpp '<leat/net/poller.hpp>' '`sched` must not include `net`'
violation framework/leat/csp/a.cpp '<leat/net/poller.hpp>' '`csp` must not include `net`'
violation framework/leat/net/a.cpp '<leat/process/port.hpp>' '`net` must not include `process`'
violation framework/leat/process/a.cpp '<leat/config/plan.hpp>' '`process` must not include `config`'
violation framework/leat/process/a.cpp '<leat/net/poller.hpp>' '`process` must not include `net`'
violation config/leat/config/a.cpp '<leat/fiber/fiber.hpp>' '`config` must not include `fiber`'
violation services/leat/stock/a.cpp '<leat/services/host.hpp>' '`stock` must not include `services`'
violation framework/leat/base/a.hpp '"leat/sched/g.hpp"' '`base` must not include `sched`'
violation framework/leat/base/a.hpp '"../sched/g.hpp"' '`base` must not include `sched`'
violation framework/leat/base/a.hpp '"../../../tests/support/x.hpp"' '`base` must not include `tests`'
violation tests/base/a.cpp '<leat/nothing/a.hpp>' '`nothing` is no layer'
violation framework/leat/sched/a.cpp '<leat/leat.hpp>' '`sched` must not include `umbrella`'
violation framework/leat/sched/a.cpp '<boost/context/detail/fcontext.hpp>' 'may be included in framework/leat/fiber'
violation tests/fiber/a.cpp '<boost/context/fiber.hpp>' 'may be included in framework/leat/fiber'
violation framework/leat/fiber/a.cpp '<boost/asio.hpp>' 'may be included in framework/leat/net'
violation framework/leat/csp/a.cpp '<asio/post.hpp>' 'may be included in framework/leat/net'
violation services/leat/services/a.cpp '<toml++/toml.h>' 'may be included in config only'
violation examples/first/a.cpp '<toml.hpp>' 'may be included in config only'

fresh
put framework/leat/other/a.hpp '// nothing'
expect 1 'framework/leat/other/a.hpp:1: this folder is no layer' layers

allowed framework/leat/fiber/a.cpp '<boost/context/detail/fcontext.hpp>'
allowed tests/bench/switch_bench.cpp '<boost/context/detail/fcontext.hpp>'
allowed framework/leat/sched/a.cpp '<leat/base/list.hpp>'
allowed framework/leat/sched/a.cpp '"queue.hpp"'
allowed framework/leat/net/a.cpp '<asio/io_context.hpp>'
allowed examples/net/a.cpp '<asio.hpp>'
allowed tests/net/a.cpp '<boost/asio.hpp>'
allowed config/leat/config/a.cpp '<toml++/toml.h>'
allowed services/leat/services/a.cpp '<leat/stock/ticker.hpp>'
allowed framework/leat/leat.hpp '<leat/csp/channel.hpp>'
allowed examples/first/a.cpp '<leat/leat.hpp>'
allowed framework/leat/base/a.cpp '<vector>  // not <leat/sched/g.hpp>'

fresh
put framework/leat/base/long.cpp "$(yes '//' | head -401)"
expect 0 'note: framework/leat/base/long.cpp has 401 lines' layers

fresh
put framework/leat/sched/long.hpp "$(yes '//' | head -200)"
expect 1 'framework/leat/sched/long.hpp:200: 200 lines' layers
put framework/leat/sched/long.hpp "$(yes '//' | head -199)"
expect 0 'no forbidden include' layers

fresh
expect 2 'no source folder' layers
finish
