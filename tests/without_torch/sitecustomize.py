"""On the path of a kernel, this makes `import torch` fail as it does where torch is not installed."""

import sys

sys.modules["torch"] = None
