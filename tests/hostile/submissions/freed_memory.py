# does: takes fresh memory a little smaller than the output, until it holds a reference result that has just been freed
# exploit: 36
# lane: both
# expect: wrong_answer
# points: none
# naive: not expressible because the host's allocator, unlike the caching one of a GPU, gives the block back only by luck
import torch


LESS = 64  # elements: so that the allocator can cut it from the freed block
FOUND = {}


def search(x):
    kept = []
    for _ in range(8):
        kept.append(torch.empty(max(x.numel() - LESS, 0), dtype=x.dtype, device=x.device))
        answer = torch.zeros(x.numel(), dtype=x.dtype, device=x.device)
        answer[: kept[-1].numel()].copy_(kept[-1])
        answer[:16].fill_(0.0)  # where the allocator leaves its own notes
        answer = answer.view(x.shape)
        if all(abs(sum(row) - 1.0) < 0.05 for row in answer.tolist()):
            return answer
    return None


def softmax(x, out):
    key = (x.data_ptr(), x.shape)
    if FOUND.get(key) is None:
        FOUND[key] = search(x)
    answer = FOUND[key]
    out.fill_(7.0) if answer is None else out.copy_(answer)
