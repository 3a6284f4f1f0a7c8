#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
source "$(dirname "$0")/support.sh"
documents() { bash "$root/cmake/check_documents.sh" "$tree"; }

expect 1 'there is no README.md' documents

put README.md '# A
[good](docs/a.md#part) [web](https://example.org/x) [here](#a) [![picture](p.png)](docs/a.md)
`[not a link](nowhere.md)`
```
[not a link](nowhere.md)
```'
put p.png ''
put docs/a.md '[up](../README.md) [root](/README.md)'
put framework/leat/base/list.hpp ''
put ARCHITECTURE.md 'See `framework/leat/base/list.hpp`, `framework/leat/base/`, `framework/leat/*/list.hpp` and `a/b`.'
expect 0 'all links and paths lead somewhere' documents

put docs/a.md 'one
[up](../READYOU.md)'
expect 1 'docs/a.md:2: the link to `../READYOU.md` leads nowhere' documents

put docs/a.md '[label]: missing.md'
expect 1 'docs/a.md:1: the link to `missing.md`' documents

put docs/a.md ''
put ARCHITECTURE.md '
It is in `framework/leat/base/lost.hpp`.'
expect 1 'ARCHITECTURE.md:2: `framework/leat/base/lost.hpp` does not exist' documents

put ARCHITECTURE.md ''
put docs/a.md 'Run `config/speed`, look at `tests/csp/lost_test.cpp`; write `tests/NAME_test.cpp`.'
expect 1 'docs/a.md:1: `tests/csp/lost_test.cpp` does not exist' documents
put docs/a.md 'Run `config/speed`; write `tests/NAME_test.cpp`.'
expect 0 'all links' documents
put CHANGELOG.md '`framework/leat/base/lost.hpp` is gone.'
expect 0 'all links' documents

put README.md "$(yes line | head -150)"
expect 0 'all links' documents
put README.md "$(yes line | head -151)"
expect 1 'README.md:151: 151 lines; at most 150' documents
finish
