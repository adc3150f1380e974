// $name: the decorrelated score of one event, in C++17.
//
// $origin
// The SHA-256 of the model file: $sha
//
//   $call
//
// Inputs, in the units of the fit:
$inputs
// Beyond the fitted range $outside. NaN gives NaN.

#ifndef $guard
#define $guard

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace $space {
inline namespace $of_model {
namespace parts {

// Counts the knots below a value. Equal buckets of their range know where theirs begin; in most
// there are three at most, two steps away. Three infinities come after the last knot.
template <int Knots, int Buckets>
struct Locator {
  const double* knots;
  double low, scale;
  std::uint32_t first[Buckets + 1];

  constexpr Locator(const double (&values)[Knots + 3], double buckets_per_unit)
      : knots(values), low(values[0]), scale(buckets_per_unit), first() {
    int knot = 0;
    for (int i = 0; i < Buckets; ++i) {
      while (knot < Knots && bucket(values[knot]) < i) ++knot;
      first[i] = static_cast<std::uint32_t>(knot);
    }
    first[Buckets] = static_cast<std::uint32_t>(Knots);
  }

  constexpr int bucket(double value) const {
    const double place = (value - low) * scale;
    return !(place > 0) ? 0 : place < Buckets ? static_cast<int>(place) : Buckets - 1;
  }

  std::int64_t below(double value) const {
    const int place = bucket(value);
    std::uint32_t found = first[place];
    if (first[place + 1] - found > 3)
      return std::lower_bound(knots + found, knots + first[place + 1], value) - knots;
    found += 2 * (knots[found + 1] < value);
    return found + (knots[found] < value);
  }
};

template <int Keys>
double place(const std::string_view (&keys)[Keys], std::string_view key) {
  for (int i = 0; i < Keys; ++i)
    if (keys[i] == key) return i;
  return -1;
}

inline double relu(double x) { return x < 0 ? 0 : x; }

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <int Size>
void softmax(const double (&x)[Size], double (&share)[Size], int width) {
  for (int row = 0; row < Size; row += width) {
    const double most = *std::max_element(x + row, x + row + width);
    double total = 0;
    for (int i = row; i < row + width; ++i) total += share[i] = std::exp(x[i] - most);
    for (int i = row; i < row + width; ++i) share[i] /= total;
  }
}

$constants

}  // namespace parts
$answer
inline $type flat($arguments) {
  using namespace parts;
$steps
  return $result;
}

}  // namespace $of_model
}  // namespace $space

#endif
