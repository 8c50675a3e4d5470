// Stub for tests: types and instructions that the stand-in assembler and the wrappers name.
#pragma once
#include <cstdint>
void set_atomic_none();
void trap();
struct GlobalTensor;
struct half {
    uint16_t bits;
};
struct bfloat16_t {
    uint16_t bits;
};
struct float8_e4m3_t {
    uint8_t bits;
};
struct float8_e5m2_t {
    uint8_t bits;
};
struct float8_e8m0_t {
    uint8_t bits;
};
struct float4_e2m1x2_t {
    uint8_t bits;
};
namespace pto {
enum class TileSplitAxis { TILE_NO_SPLIT, TILE_UP_DOWN, TILE_LEFT_RIGHT };
struct Pipe {};
struct Tile {};
#if defined(__CPU_SIM) || defined(__COSTMODEL)
template <typename P, typename T, TileSplitAxis A> void TPUSH(P&, T&);
template <typename P, typename T, TileSplitAxis A> void TPOP(P&, T&);
#else
template <typename P, typename T, TileSplitAxis A> void TPUSH(P&, T&, int32_t lane);
template <typename P, typename T, TileSplitAxis A> void TPOP(P&, T&, int32_t lane);
template <typename P, typename T, TileSplitAxis A> void TPUSH(P&, T&);
template <typename P, typename T, TileSplitAxis A> void TPOP(P&, T&);
#endif
}  // namespace pto
