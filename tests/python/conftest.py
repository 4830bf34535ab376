"""Every graph that a test compiles is verified after each pass, as a debug build does."""

import os

os.environ.setdefault("DIPTYCH_VERIFY", "1")
