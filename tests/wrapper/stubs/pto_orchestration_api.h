// Stub for tests: as much of the orchestration interface as generated text names, with its types.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include "tensor.h"
struct half {
    half() = default;
    explicit half(float);
};
struct bfloat16_t {
    bfloat16_t() = default;
    explicit bfloat16_t(float);
};
template <typename T> T from_u64(uint64_t bits);
template <typename T> uint64_t to_u64(T value);
struct TensorRef {
    const ChipTensor& ref() const;
};
struct ChipTaskArgs {
    TensorRef tensor(uint32_t index) const;
    uint64_t scalar(uint32_t index) const;
};
struct PTO2OrchestrationConfig {
    int expected_arg_count;
};
enum class PTO2ScopeMode { AUTO, MANUAL };
struct PTO2ScopeGuard {
    explicit PTO2ScopeGuard(PTO2ScopeMode mode = PTO2ScopeMode::AUTO);
};
#define PTO2_SCOPE(...) if (PTO2ScopeGuard pto2_guard{__VA_ARGS__}; true)
enum class DataType { FLOAT32, FLOAT16, BFLOAT16, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64 };
struct TensorCreateInfo {
    TensorCreateInfo(const uint32_t* shape, uint32_t rank, DataType dtype, bool manual = false);
    template <typename T> void set_initial_value(T value);
};
struct PTO2TaskId {
    static PTO2TaskId invalid();
    bool is_valid() const;
};
struct TaskOutputTensors {
    const ChipTensor& get_ref(uint32_t index) const;
    PTO2TaskId task_id() const;
};
template <typename... T> TaskOutputTensors alloc_tensors(const T&... infos);
enum class PredicateOp { NONE, EQ, NE, LT, LE, GT, GE };
struct CoreTaskPredicate {
    struct {
        const ChipTensor* tensor;
        uint32_t ndims;
        uint32_t indices[5];
    } operand;
    PredicateOp op;
    int64_t target;
};
struct LaunchSpec {
    void set_block_num(int64_t n);
    void set_core_num(int64_t n);
    void set_require_sync_start(bool sync);
};
struct CoreTaskArgs {
    LaunchSpec launch_spec;
    void add_input(const ChipTensor& tensor);
    void add_output(const ChipTensor& tensor);
    void add_output(const TensorCreateInfo& info);
    void add_inout(const ChipTensor& tensor);
    void add_no_dep(const ChipTensor& tensor);
    template <typename T> void add_scalar(T value);
    void set_dependencies(const PTO2TaskId* tasks, uint32_t count);
    void set_allow_early_resolve(bool allow);
    void set_predicate(const CoreTaskPredicate& predicate);
    template <typename... T> void dump(const T&... tensors);
};
constexpr int INVALID_KERNEL_ID = -1;
struct MixedKernels {
    int aic, aiv0, aiv1;
};
TaskOutputTensors rt_submit_aic_task(int kernel, const CoreTaskArgs& args);
TaskOutputTensors rt_submit_aiv_task(int kernel, const CoreTaskArgs& args);
TaskOutputTensors rt_submit_task(const MixedKernels& kernels, const CoreTaskArgs& args);
TaskOutputTensors rt_submit_dummy_task(const CoreTaskArgs& args);
int32_t rt_available_cluster_count();
int32_t rt_available_aiv_count();
template <typename T> T get_tensor_data(const ChipTensor& tensor, uint32_t rank, const uint32_t* indices);
template <typename T> void set_tensor_data(const ChipTensor& tensor, uint32_t rank, const uint32_t* indices, T value);
