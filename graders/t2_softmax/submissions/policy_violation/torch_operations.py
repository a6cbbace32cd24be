# expect: policy_violation
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import torch
import triton
import triton.language as tl


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    x32 = x.float()
    peak = x32.amax(dim=1, keepdim=True)
    peak = torch.where(peak == -float("inf"), torch.zeros_like(peak), peak)
    e = torch.exp(x32 - peak)
    s = e.sum(dim=1, keepdim=True)
    out.copy_(e / torch.where(s == 0, torch.ones_like(s), s))
