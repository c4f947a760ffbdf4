"""Keys of samples and kernels: equal keys mean equal values, and functions count by identity."""

import io
import pickle
from collections.abc import Sequence
from hashlib import blake2b
from struct import pack
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel

from skmoderndata._samples.nested import TRUSTED_NODES, refuse_endless

# Types whose `repr` determines their value.
EXACT = frozenset({str, int, float, bool, type(None)})
NAMED_ONLY = FunctionType | BuiltinFunctionType | type


class Identity:
    """An object that equals only itself; the reference prevents another object with its `id`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Key(NamedTuple):
    """A digest of a value, and the objects in it that count by identity."""

    digest: bytes
    others: tuple[Identity, ...]


def key_of_sample(x: Any, name: str, *, any_object: bool = False) -> Key:
    """Return a key of a sample; later changes of the sample do not affect the key.

    Parameters
    ----------
    x : object
        A sample of any kind. Lists, tuples, sets, dicts, arrays, sparse matrices, ElementTree
        elements and networkx graphs are read entry by entry, other objects are pickled.
    name : str
        The caller and the sample, for error messages.
    any_object : bool
        Whether objects that cannot be pickled count by identity; otherwise they raise TypeError,
        because a change of them would go unnoticed.
    """
    return _Reader(name, any_object=any_object).key(x)


def key_of_kernel(kernel: Any) -> Key:
    """Return a key of a kernel: its class and its parameters.

    Functions and classes among the parameters count by identity, because their names do not
    determine what they compute. So do objects that cannot be pickled.
    """
    return key_of_sample(kernel, "The kernel", any_object=True)


class _Reader:
    """Walk through a value and hash it, with a list of the objects that count by identity.

    Every node writes a tag, the length of its content, the content, and the number of nodes below
    it: no two values write the same bytes.
    """

    def __init__(self, name: str, *, any_object: bool = False) -> None:
        self.name = name
        self.any_object = any_object
        self.hash = blake2b(digest_size=16)
        self.found: dict[Identity, int] = {}

    def key(self, x: Any) -> Key:
        """Return the digest, and the objects that count by identity."""
        stack = [x]
        n_visited = 0
        while stack:
            content, below = self.look(stack.pop())
            self.hash.update(pack("<qq", len(content), len(below)))
            self.hash.update(content)
            stack.extend(below)
            n_visited += 1
            if n_visited == TRUSTED_NODES:
                refuse_endless(x, self.look, self.name)
        return Key(self.hash.digest(), tuple(self.found))

    def number(self, x: Any) -> bytes:
        """Return the number of an object that counts by identity."""
        return b"%d" % self.found.setdefault(Identity(x), len(self.found))

    def look(self, x: Any) -> tuple[bytes, Sequence[Any]]:
        """Return the content of a node, and the values below it."""
        kind = type(x)

        # numbers and strings
        if kind in (str, np.str_):
            return b"s" + str(x).encode("utf-8", "surrogatepass"), ()
        if kind in EXACT:
            return b"v" + f"{kind.__name__} {x!r}".encode(), ()
        if kind is bytes:
            return b"b" + x, ()
        if isinstance(x, np.generic):
            return b"g" + f"{x.dtype!r} {x.item()!r}".encode(), ()

        # containers, entry by entry
        if isinstance(x, list | tuple):
            return self._sequence(x)
        if isinstance(x, set | frozenset):
            return self._set(x)
        if kind is dict:
            return b"d", [entry for pair in x.items() for entry in pair]

        # tables
        if isinstance(x, np.ndarray):
            return self._array(x)
        if bool(sparse.issparse(x)):  # calling `bool` keeps the type stubs from narrowing x
            rows = sparse.csr_array(x)
            parts = (rows.data, rows.indices, rows.indptr, rows.shape)
            return b"m" + self.number(kind), parts

        return self._object(x)

    def _sequence(self, x: Any) -> tuple[bytes, Sequence[Any]]:
        kind = type(x)
        if kind not in (list, tuple):  # a named tuple, or a tree of nltk with its label
            attributes = getattr(x, "__dict__", {})
            return b"S" + self.number(kind), [attributes, *x]
        tag = b"l" if kind is list else b"t"
        if EXACT.issuperset(map(type, x)):  # take the fast path for sequences of tokens
            return tag + b"f" + repr(x).encode("utf-8", "surrogatepass"), ()
        return tag, x

    def _set(self, x: Any) -> tuple[bytes, Sequence[Any]]:
        """Return the entries in the order of their keys, because sets have no order."""
        if set(map(type, x)) in ({str}, {int}):
            return b"f" + repr(sorted(x)).encode("utf-8", "surrogatepass"), ()
        keys = [_Reader(self.name, any_object=self.any_object).key(entry) for entry in x]
        keys.sort(key=lambda key: key.digest)
        numbers = b" ".join(self.number(v.value) for key in keys for v in key.others)
        return b"u" + b"".join(key.digest for key in keys) + numbers, ()

    def _array(self, x: Any) -> tuple[bytes, Sequence[Any]]:
        head = b"a" + f"{x.dtype!r} {x.shape}".encode()
        if x.dtype.hasobject:
            return head + b"o", x.ravel().tolist()
        return head + b" " + np.ascontiguousarray(x).tobytes(), ()

    def _object(self, x: Any) -> tuple[bytes, Sequence[Any]]:
        kind = type(x)
        if isinstance(x, Kernel):
            return b"k" + self.number(kind), sorted(x.get_params(deep=False).items())
        if isinstance(x, NAMED_ONLY):
            return b"i" + self.number(x), ()
        if isinstance(x, MethodType):
            return b"M", (x.__func__, x.__self__)
        if hasattr(x, "value_key"):  # use the key that an immutable object may provide
            key: Key = x.value_key()
            return b"K" + key.digest + b" ".join(self.number(v.value) for v in key.others), ()
        if hasattr(x, "tag") and hasattr(x, "attrib"):
            return b"e", [x.tag, x.text, x.tail, dict(x.attrib), *x]
        if hasattr(x, "nodes") and hasattr(x, "adjacency"):
            return b"n" + self.number(kind), _parts_of_graph(x)
        return self._pickled(x), ()

    def _pickled(self, x: Any) -> bytes:
        buffer = io.BytesIO()
        try:
            _Pickler(buffer, self).dump(x)
        except Exception as error:
            if self.any_object:
                return b"i" + self.number(x)
            raise TypeError(
                f"{self.name} is of type {type(x).__name__} and cannot be pickled ({error}), so "
                "changes of it would go unnoticed. Compute without a cache."
            ) from None
        return b"p" + buffer.getvalue()


class _Pickler(pickle.Pickler):
    """Pickle an object; number functions and classes, which pickle stores only by name."""

    def __init__(self, file: Any, reader: _Reader) -> None:
        super().__init__(file, protocol=4)
        self.reader = reader

    def persistent_id(self, obj: Any) -> Any:
        """Return the number of a function or class, None for other objects."""
        return self.reader.number(obj) if isinstance(obj, NAMED_ONLY) else None


def _parts_of_graph(graph: Any) -> list[Any]:
    named = {"keys": True} if graph.is_multigraph() else {}
    edges = [tuple(edge) for edge in graph.edges(data=True, **named)]
    return [dict(graph.graph), list(graph.nodes(data=True)), edges]
