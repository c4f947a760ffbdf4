"""What the generators of image sequences share."""

from numbers import Integral


def checked_image_shape(image_shape):
    """Return height and width as ints; refuse anything else than two positive integers."""
    shape = tuple(image_shape)
    whole = all(isinstance(size, Integral) and size >= 1 for size in shape)
    if len(shape) != 2 or not whole:
        raise ValueError(
            f"image_shape must be two positive integers (height, width), got {image_shape!r}."
        )
    height, width = shape
    return int(height), int(width)
