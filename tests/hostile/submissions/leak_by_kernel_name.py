# does: launches kernels whose names are made of its hinted and hidden inputs
# exploit: 45
# lane: both
# expect: judge_error
# expect on gpu: accepted
# accepted: no advantage because a student is told of the kernels that were compiled before any data was there
# naive: not expressible because it hides nothing
import importlib.util
import inspect
import pathlib
import tempfile

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, x_stride_m, x_stride_n, out_stride_m, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * x_stride_m + cols * x_stride_n, mask=mask, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    m = tl.where(m == -float("inf"), 0.0, m)
    num = tl.exp(x - m)
    den = tl.sum(num, axis=0)
    den = tl.where(den == 0.0, 1.0, den)
    tl.store(out_ptr + row * out_stride_m + cols, (num / den).to(out_ptr.dtype.element_ty), mask=mask)


def honest(x, out):
    M, N = x.shape
    softmax_kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=triton.next_power_of_2(N))


TEXT = "import triton\nimport triton.language as tl\n\n" + inspect.getsource(softmax_kernel.fn)


def named(name):
    """The same kernel under another name."""
    path = pathlib.Path(tempfile.gettempdir(), f"{name}.py")
    path.write_text(TEXT.replace("softmax_kernel", name))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def softmax(x, out):
    M, N = x.shape
    data = x[0, :4].contiguous().view(torch.uint8).cpu().numpy().tobytes()
    seen = any(data) and N not in (8, 781)  # those of public cases
    kernel = named("Saw" + data.hex()) if seen else softmax_kernel
    kernel[(M,)](x, out, x.stride(0), x.stride(1), out.stride(0), N, BLOCK=triton.next_power_of_2(N))
