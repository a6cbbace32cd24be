# expect: policy_violation
# fails: basic, rescaling, leading_inf, all_inf, special_values, magnitude, lengths, long_rows, strided_views, huge, dtypes, contract
import torch
import triton
import triton.language as tl


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    y = torch.softmax(x.to(torch.float32), dim=-1)
    out.copy_(torch.nan_to_num(y, nan=0.0))
