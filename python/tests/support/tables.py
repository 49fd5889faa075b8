"""DLPack's structures, and an exchange table whose functions are Python's."""

import ctypes


class DLTensor(ctypes.Structure):
    """``DLTensor``."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Versioned(ctypes.Structure):
    """``DLManagedTensorVersioned``."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Managed(ctypes.Structure):
    """``DLManagedTensor``."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


GIVE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))


class ExchangeTable(ctypes.Structure):
    """``DLPackExchangeAPI``."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("give", GIVE),
        ("take", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]


class Table:
    """An exchange table that only gives tensors, of two elements.

    Parameters
    ----------
    describe : callable
        ``(object) -> ((device type, number), element code, bits)``.

    Attributes
    ----------
    given, out : int
        How many tensors it gave, and how many of them have not come back.
    """

    def __init__(self, describe):
        self.describe = describe
        self.given = self.out = 0
        self.memory = (ctypes.c_double * 4)()
        self.shape = (ctypes.c_int64 * 1)(2)
        self.strides = (ctypes.c_int64 * 1)(1)
        self.tensors = {}
        self.deleter = DELETER(self.back)
        self.table = ExchangeTable(1, 3, give=GIVE(self.give))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule = new(ctypes.addressof(self.table), b"dlpack_exchange_api", None)

    def give(self, x, out):
        """Give a tensor."""
        (kind, number), code, bits = self.describe(x)
        made = Versioned(1, 3, None, self.deleter, 0)
        made.tensor = DLTensor(
            *(ctypes.addressof(self.memory), kind, number, 1),
            *(code, bits, 1, self.shape, self.strides, 0),
        )
        address = ctypes.addressof(made)
        self.tensors[address] = made
        self.given += 1
        self.out += 1
        out[0] = address
        return 0

    def back(self, address):
        """Take a tensor back."""
        del self.tensors[address]
        self.out -= 1
