// SPDX-License-Identifier: BSL-1.0
//
// A camera, replicas that look for edges in its pictures, and a tally. The camera is faster than they are;
// the channel between keeps the latest picture only, so what is looked at is always fresh.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <leat/leat.hpp>
#include <leat/main.hpp>

using namespace std::chrono_literals;

struct picture {
  std::uint64_t number;
  int width, height;
  std::vector<std::uint8_t> pixels;  // grey, row by row
};
LEAT_MESSAGE(picture, number, width, height, pixels);

struct finding {
  std::uint64_t number;
  std::int64_t edges;  // pixels
};
LEAT_MESSAGE(finding, number, edges);

class camera : public leat::process {
  leat::out<picture> pictures{this, "pictures", "grey pictures of a bar that turns"};
  leat::setting<std::chrono::microseconds> period{this, "period", 2ms, "from one picture to the next",
                                                  leat::between<std::chrono::microseconds>(100us, 10s)};
  leat::setting<int> width{this, "width", 320, "pixels", leat::between(16, 4096)};
  leat::setting<int> height{this, "height", 240, "pixels", leat::between(16, 4096)};
  leat::setting<std::chrono::milliseconds> lasts{this, "lasts", 0ms, "then it ends; 0: never"};
  leat::setting<int> cut{this, "cut", 0, "each so many pictures one lacks its lower half; 0: none",
                         leat::between(0, 1'000'000)};

  picture take(std::uint64_t number) const {
    picture p{number, width, height, {}};
    p.pixels.reserve(static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height));
    const double angle = 0.05 * static_cast<double>(number);
    const double dx = std::cos(angle), dy = std::sin(angle);
    const int rows = cut > 0 && number % static_cast<std::uint64_t>(*cut) == 0 ? p.height / 2 : p.height;
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < p.width; ++x) {
        const double off = (x - p.width / 2.0) * dy - (y - p.height / 2.0) * dx;
        p.pixels.push_back(std::abs(off) < 20 ? 220 : 30);
      }
    return p;
  }

  void run() override {
    const leat::deadline end = *lasts > 0ms ? leat::deadline(*lasts) : leat::deadline::never();
    leat::ticker ticks(*period, leat::missed::skip);
    for (std::uint64_t number = 1; ticks.recv() && !end.expired(); ++number)
      if (pictures.send(take(number)) == leat::send_status::closed) return;
  }
};
LEAT_PROCESS(camera, "a simulated camera");

class edges : public leat::process {
  leat::in<picture> pictures{this, "pictures", "to be looked at"};
  leat::out<finding> findings{this, "findings", "how many pixels are edges"};
  leat::setting<int> passes{this, "passes", 20, "how often it looks: more is more work",
                            leat::between(1, 10000)};

  // Sobel's operator.
  static std::int64_t look(const picture& p) {
    const auto w = static_cast<std::size_t>(p.width), h = static_cast<std::size_t>(p.height);
    std::int64_t found = 0;
    for (std::size_t y = 1; y + 1 < h; ++y)
      for (std::size_t x = 1; x + 1 < w; ++x) {
        const std::uint8_t* const up = &p.pixels[(y - 1) * w + x];
        const std::uint8_t* const here = up + w;
        const std::uint8_t* const down = here + w;
        const int across = up[1] + 2 * here[1] + down[1] - up[-1] - 2 * here[-1] - down[-1];
        const int along = down[-1] + 2 * down[0] + down[1] - up[-1] - 2 * up[0] - up[1];
        found += across * across + along * along > 200 * 200;
      }
    return found;
  }

  void run() override {
    for (const picture& p : pictures) {
      const auto wanted = static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height);
      if (p.pixels.size() != wanted)
        throw std::runtime_error("picture " + std::to_string(p.number) + " has " +
                                 std::to_string(p.pixels.size()) + " of " + std::to_string(wanted) +
                                 " pixels");
      std::int64_t found = 0;
      for (int i = 0; i < passes; ++i) found = std::max(found, look(p));
      if (findings.send({p.number, found}) == leat::send_status::closed) return;
    }
  }
};
LEAT_PROCESS(edges, "looks for edges; it trusts no picture");

class tally : public leat::process {
  leat::in<finding> findings{this, "findings", "to be counted"};

  void run() override {
    const leat::time_point begin = leat::now();
    long n = 0;
    std::int64_t most = 0;
    for (const finding& f : findings) {
      ++n;
      most = std::max(most, f.edges);
    }
    const double seconds = std::chrono::duration<double>(leat::now() - begin).count();
    std::printf("looked at %ld pictures, %.0f a second; at most %lld pixels were edges\n", n,
                static_cast<double>(n) / seconds, static_cast<long long>(most));
  }
};
LEAT_PROCESS(tally, "counts, and says so at the end");

int main(int argc, char** argv) { return leat::main(argc, argv); }
