"""Random bits that are known beforehand."""

from learners.privacy.randomness import RandomSource


class Tape:
    """A source that reads the given bytes, and says when they run out."""

    private = False

    def __init__(self, data: bytes) -> None:
        self.data = data

    def bytes(self, count: int) -> bytes:
        if len(self.data) < count:
            raise EOFError
        head, self.data = self.data[:count], self.data[count:]
        return head

    def spawn(self) -> RandomSource:
        raise NotImplementedError
