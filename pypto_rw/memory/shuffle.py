"""The permutations the DSA_RP planner tries: a 64-bit Mersenne Twister and the shuffle drawn from it.

The sequence is fixed (seed 0), so a plan is the same everywhere. Source: memory-planning.md §7; MT19937-64 is by
Matsumoto and Nishimura, the shuffle takes two positions from one draw as libstdc++ does.
"""

from __future__ import annotations

from typing import TypeVar

_WORD = (1 << 64) - 1
_STATE, _MIDDLE = 312, 156
_UPPER, _LOWER = 0xFFFFFFFF80000000, 0x7FFFFFFF
_TWIST = 0xB5026F5AA96619E9
_SPREAD = 6364136223846793005
T = TypeVar("T")


class Twister:
    """A stream of 64-bit numbers."""

    def __init__(self, seed: int = 0) -> None:
        self._state = [seed & _WORD]
        for k in range(1, _STATE):
            last = self._state[-1]
            self._state.append((_SPREAD * (last ^ (last >> 62)) + k) & _WORD)
        self._next = _STATE

    def draw(self) -> int:
        """The next number."""
        if self._next == _STATE:
            self._refill()
        x = self._state[self._next]
        self._next += 1
        x ^= (x >> 29) & 0x5555555555555555
        x ^= (x << 17) & 0x71D67FFFEDA60000
        x ^= (x << 37) & 0xFFF7EEE000000000
        return (x ^ (x >> 43)) & _WORD

    def _refill(self) -> None:
        s = self._state
        for k in range(_STATE):
            x = (s[k] & _UPPER) | (s[(k + 1) % _STATE] & _LOWER)
            s[k] = s[(k + _MIDDLE) % _STATE] ^ (x >> 1) ^ (_TWIST if x & 1 else 0)
        self._next = 0

    def below(self, n: int) -> int:
        """A number in 0..n-1, all equally likely: the high half of a product, biased low parts drawn again."""
        product = self.draw() * n
        if (product & _WORD) < n:
            threshold = ((1 << 64) - n) % n
            while (product & _WORD) < threshold:
                product = self.draw() * n
        return product >> 64


def shuffle(items: list[T], stream: Twister) -> None:
    """Shuffle in place."""

    def swap(a: int, b: int) -> None:
        items[a], items[b] = items[b], items[a]

    count = len(items)
    if count < 2:
        return
    k = 1
    if count % 2 == 0:
        swap(1, stream.below(2))
        k = 2
    while k < count:
        first, second = divmod(stream.below((k + 1) * (k + 2)), k + 2)
        swap(k, first)
        swap(k + 1, second)
        k += 2
