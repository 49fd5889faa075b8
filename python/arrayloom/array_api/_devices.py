"""Where arrays live: in the memory of the host, whoever computes them.

A backend (``--backend``) is chosen for a whole process and is where kernels run. Each array has an address
of the host all the same, which NumPy, DLPack and C code read. So there is one device, ``"cpu"``.
"""

__all__ = ["CPU", "DEVICES", "check_device"]

CPU = "cpu"
DEVICES = (CPU,)


def check_device(device: object, where: str) -> None:
    """Accept None and the devices that exist.

    Raises
    ------
    ValueError
        Another device.
    """
    if device is not None and device not in DEVICES:
        message = (
            f"{where}: there is no device {device!r}; there are {', '.join(map(repr, DEVICES))}"
        )
        raise ValueError(message)
