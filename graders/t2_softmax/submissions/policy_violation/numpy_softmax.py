# expect: policy_violation
# fails: basic, all_negative, large_magnitude, strided_views, huge, all_inf, partial_inf, lengths, dtypes, contract
import numpy as np
import torch


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    a = x.cpu().numpy().astype(np.float64)
    peak = a.max(axis=1, keepdims=True)
    peak[np.isinf(peak)] = 0.0
    e = np.exp(a - peak)
    s = e.sum(axis=1, keepdims=True)
    s[s == 0.0] = 1.0
    out.copy_(torch.from_numpy(e / s))
