"""Online softmax, checked on the CPU in float64 with numpy alone: ``python -m reference.online_softmax``."""
