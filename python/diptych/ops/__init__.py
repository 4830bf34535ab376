"""Ops: every row of the op table as a function, functions under MindSpore's signatures where these
differ, and the primitive classes (``ops.ReLU()(x)``)."""

from __future__ import annotations

from .._core import op_table as _table

globals().update({_name: _op for _name, _op in _table.items() if not _op.hidden})

from ..common.dtype import *  # noqa: E402, F403
from . import function, functional  # noqa: E402, F401
from .algebra import *  # noqa: E402, F403
from .apply import *  # noqa: E402, F403
from .arrange import *  # noqa: E402, F403
from .attention import *  # noqa: E402, F403
from .basic import *  # noqa: E402, F403
from .composite import *  # noqa: E402, F403
from .ctc import *  # noqa: E402, F403
from .detect import *  # noqa: E402, F403
from .higher import *  # noqa: E402, F403
from .layers import *  # noqa: E402, F403
from .loss import *  # noqa: E402, F403
from .neural import *  # noqa: E402, F403
from .numeric import *  # noqa: E402, F403
from .older import *  # noqa: E402, F403
from .place import *  # noqa: E402, F403
from .primitive import *  # noqa: E402, F403
from .random import *  # noqa: E402, F403
from .recurrent import *  # noqa: E402, F403
from .sampling import *  # noqa: E402, F403
from .vmap import *  # noqa: E402, F403

print = print_  # noqa: A001, F405  the name that older scripts use
