"""Spelling of element types in C++. Sources: kernel-wrapper.md §5.3, orchestration-overview.md §3."""

from __future__ import annotations

from pypto_rw.ir import DType

C_TYPE = {
    DType.BOOL: "bool",
    DType.INT8: "int8_t",
    DType.INT16: "int16_t",
    DType.INT32: "int32_t",
    DType.INT64: "int64_t",
    DType.INDEX: "int64_t",
    DType.UINT8: "uint8_t",
    DType.UINT16: "uint16_t",
    DType.UINT32: "uint32_t",
    DType.UINT64: "uint64_t",
    DType.FP16: "half",
    DType.BF16: "bfloat16_t",
    DType.FP32: "float",
    DType.FP8E4M3FN: "float8_e4m3_t",
    DType.FP8E5M2: "float8_e5m2_t",
    DType.FP8E8M0: "float8_e8m0_t",
    DType.FP4: "float4_e2m1x2_t",
}

RUNTIME_DTYPE = {
    DType.FP32: "FLOAT32",
    DType.FP16: "FLOAT16",
    DType.BF16: "BFLOAT16",
    DType.INT8: "INT8",
    DType.INT16: "INT16",
    DType.INT32: "INT32",
    DType.INT64: "INT64",
    DType.UINT8: "UINT8",
    DType.UINT16: "UINT16",
    DType.UINT32: "UINT32",
    DType.UINT64: "UINT64",
}

PACKED = frozenset({DType.FP4, DType.INT4, DType.UINT4, DType.HF4})  # two elements a byte
