"""What a banner says."""

from __future__ import annotations

from gpuexplorer.core import language
from gpuexplorer.core.device import DeviceList, Unavailable
from gpuexplorer.core.language import tr
from gpuexplorer.gui.notice import no_device


def test_what_each_backend_lacks_is_said_in_sentences_that_can_be_told() -> None:
    lacks = Unavailable(
        backend="cuda", reason="no NVIDIA driver is installed", remedy="install NVIDIA's driver"
    )
    detail = no_device(DeviceList(unavailable=(lacks,)), lambda: None).detail
    assert detail == "cuda: no NVIDIA driver is installed. Install NVIDIA's driver."
    language.use("zh_CN")
    try:
        assert tr(detail) == "cuda：没有安装 NVIDIA 驱动程序。安装 NVIDIA 的驱动程序。"
    finally:
        language.use(language.ENGLISH)
