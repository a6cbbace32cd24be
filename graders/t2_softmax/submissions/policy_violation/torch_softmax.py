# expect: policy_violation
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import torch
import triton
import triton.language as tl


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    out.copy_(torch.softmax(x, dim=-1))
