// Stub for tests: what a kernel asks the runtime about itself.
#pragma once
#include <cstdint>
enum DmaWorkspace { DMA_WORKSPACE_SDMA };
int32_t get_block_idx(int64_t* args);
int32_t get_block_num(int64_t* args);
int32_t get_sub_block_id(int64_t* args);
uint64_t get_dma_workspace(int64_t* args, DmaWorkspace kind);
