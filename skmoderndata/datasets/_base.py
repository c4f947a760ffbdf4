"""Checks shared by the generators of image sequences."""

from numbers import Integral


def checked_image_shape(image_shape):
    """Return height and width as ints; raise ValueError unless both are positive integers."""
    shape = tuple(image_shape)
    positive = all(isinstance(size, Integral) and size >= 1 for size in shape)
    if len(shape) != 2 or not positive:
        raise ValueError(
            f"image_shape must be two positive integers (height, width), got {image_shape!r}."
        )
    height, width = shape
    return int(height), int(width)
