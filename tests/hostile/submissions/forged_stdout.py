# does: prints a passing result and ends the process with status 0 before anything is tested
# exploit: 56
# lane: both
# expect: runtime_error
# points: none
# naive: fooled about time
import json
import os

import torch


print(json.dumps({"passed": True, "verdict": "accepted", "score": 70, "time_ms": 1e-6, "speed_up": 99.0}), flush=True)
os._exit(0)
