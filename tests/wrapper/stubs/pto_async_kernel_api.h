// Stub for tests: deferred completion.
#pragma once
#include <cstdint>
#define MAX_COMPLETIONS_PER_TASK 64
#define SIMPLER_ERROR_ASYNC_COMPLETION_INVALID 7
struct CompletionEntry {
    uint64_t address;
};
struct TaskToken {
    uint64_t raw;
};
struct AsyncCtx {
    volatile uint32_t* completion_count;
    volatile int32_t* completion_error_code;
    volatile CompletionEntry* completion_entries;
    uint32_t completion_capacity;
    TaskToken task_token;
};
AsyncCtx get_async_ctx(int64_t* args);
bool async_ctx_is_deferred(const AsyncCtx& ctx);
void save_expected_notification_counter(AsyncCtx& ctx, volatile void* counter, uint32_t expected);
namespace pto2::detail {
void defer_error(AsyncCtx& ctx, int32_t code);
void defer_flush(AsyncCtx& ctx);
}  // namespace pto2::detail
