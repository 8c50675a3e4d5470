// Stub for tests: as much of the runtime's tensor as generated text names.
#pragma once
#include <cstdint>
struct Buffer {
    uint64_t addr;
};
struct ChipTensor {
    Buffer buffer;
    int64_t start_offset;
    uint32_t ndims;
    uint32_t shapes[5];
    uint32_t strides[5];
    ChipTensor view(const uint32_t* shape, const uint32_t* offsets) const;
    ChipTensor reshape(const uint32_t* shape, uint32_t rank) const;
    ChipTensor transpose(uint32_t a, uint32_t b) const;
};
