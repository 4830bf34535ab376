"""Well-known nets, each a page of Python over ``diptych.nn``; without trained weights.

Vision nets carry torchvision's names, GPT and BERT those of their authors where a layer stands
alone; leaves keep MindSpore's names (``gamma``, ``embedding_table``).
``ms.train.torch_name_map(net)`` therefore reads a torchvision checkpoint of VGG, ResNet or
MobileNetV2.
"""

from . import bert, gpt, lenet, lstm, mobilenet, resnet, vgg, vit
from .bert import *  # noqa: F403
from .gpt import *  # noqa: F403
from .lenet import *  # noqa: F403
from .lstm import *  # noqa: F403
from .mobilenet import *  # noqa: F403
from .resnet import *  # noqa: F403
from .vgg import *  # noqa: F403
from .vit import *  # noqa: F403

__all__: list[str] = []
for _part in (bert, gpt, lenet, lstm, mobilenet, resnet, vgg, vit):
    __all__ += _part.__all__
