"""Lanes of split endpoints, and the text around them."""

from __future__ import annotations

import pytest

from pypto_rw.wrapper.endpoints import Unreadable, pass_lane
from pypto_rw.wrapper.preprocess import preprocess

TEXT = """\
static __aicore__ void cube(__gm__ float* v1) {
  TPUSH<TPipe<0, Direction::BOTH>, Tile<float, 16>, TileSplitAxis::TILE_UP_DOWN>(v2, v3);
}
static __aicore__ void own(__gm__ float* v1, int32_t v9) {
  // TPOP<P, T, TileSplitAxis::TILE_UP_DOWN>(a, b);
  for (int i = 0; i < 4; ++i) { TPOP<P, Tile<1, 2>, TileSplitAxis::TILE_LEFT_RIGHT>(
      v4, f(v5, "),"));
    use(v5); }
  TPUSH<P, T, TileSplitAxis::TILE_NO_SPLIT>(v4, v5);
}
static __aicore__ void private_one() {
\tTPUSH<P, T, TileSplitAxis::TILE_UP_DOWN>(v4, v5);
}
static __aicore__ void declared(int a);
"""

PASSED = """\
static __aicore__ void cube(__gm__ float* v1) {
  TPUSH<TPipe<0, Direction::BOTH>, Tile<float, 16>, TileSplitAxis::TILE_UP_DOWN>(v2, v3);
}
static __aicore__ void own(__gm__ float* v1, int32_t v9) {
  // TPOP<P, T, TileSplitAxis::TILE_UP_DOWN>(a, b);
  for (int i = 0; i < 4; ++i) {
#if !defined(__CPU_SIM) && !defined(__COSTMODEL)
    TPOP<P, Tile<1, 2>, TileSplitAxis::TILE_LEFT_RIGHT>(v4, f(v5, "),"), v9);
#else
    TPOP<P, Tile<1, 2>, TileSplitAxis::TILE_LEFT_RIGHT>(v4, f(v5, "),"));
#endif
    use(v5); }
  TPUSH<P, T, TileSplitAxis::TILE_NO_SPLIT>(v4, v5);
}
static __aicore__ void private_one(int32_t __pypto_lane) {
#if !defined(__CPU_SIM) && !defined(__COSTMODEL)
    TPUSH<P, T, TileSplitAxis::TILE_UP_DOWN>(v4, v5, __pypto_lane);
#else
    TPUSH<P, T, TileSplitAxis::TILE_UP_DOWN>(v4, v5);
#endif
}
static __aicore__ void declared(int a);
"""


def test_the_lane_is_passed() -> None:
    vector = {"own": True, "private_one": False, "declared": False}
    assert pass_lane(TEXT, vector) == (PASSED, {"private_one"})


def test_without_split_endpoints_nothing_changes() -> None:
    assert pass_lane(TEXT, {}) == (TEXT, set())


def test_brackets_that_never_close() -> None:
    with pytest.raises(Unreadable):
        pass_lane("static __aicore__ void own(int a) {\n  TPOP<P, T(v1);\n}\n", {"own": True})


def test_own_headers_and_linkage_go() -> None:
    given = """\
#include "pto/pto-inst.hpp"
#  include <cstdint>
#include "common/tensor.h"
#include "tensor_of_mine.hpp"
  using namespace pto;
extern "C" __global__ AICORE void k(Tensor* a, GlobalTensor* b) {
  set_ffts_base_addr(0);
  TensorView c;
}
AICORE inline int two() { return 2; }
"""
    assert (
        preprocess(given)
        == """\
#include "tensor_of_mine.hpp"
static __aicore__ void k(ChipTensor* a, GlobalTensor* b) {
  TensorView c;
}
__aicore__ inline int two() { return 2; }
"""
    )


def test_a_gather_takes_the_wrappers_of_its_own_aliases_only() -> None:
    given = """\
__ubuf__ float* a = d.data();
__gm__ float* b = (__gm__ float*)t;
__ubuf__ int32_t* c = i.data();
__cbuf__ float* s = x.data();
MGATHER<Coalesce::Elem>(a, b, c, s);
__ubuf__ float* a = e.data();
__gm__ float* y = (__gm__ int*)t;
MGATHER(a, y, k);
__ubuf__ int32_t* g = j.data();
__gm__ float* h = (__gm__ float*) u;
__ubuf__ float* o = w.data();
MGATHER(o, h, g, tmp);
"""
    assert (
        preprocess(given)
        == """\
MGATHER<Coalesce::Elem>(d, t, i, x);
__ubuf__ float* a = e.data();
__gm__ float* y = (__gm__ int*)t;
MGATHER(a, y, k);
MGATHER(w, u, j, tmp);
"""
    )
