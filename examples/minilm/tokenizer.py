"""WordPiece as uncased BERT uses it: plain words, split into the longest pieces that the vocabulary has."""

import pathlib
import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np

CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _is_space(c: str) -> bool:
    return c in " \t\n\r" or unicodedata.category(c) in ("Zs", "Zl", "Zp")


def _is_dropped(c: str) -> bool:
    return c in "\0\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs")


def _stands_alone(c: str) -> bool:
    """Punctuation (every printable ASCII sign that is no letter or digit counts) and CJK characters are words of their own."""
    code = ord(c)
    if code < 128:
        return 33 <= code and not c.isalnum() and code != 127
    return unicodedata.category(c).startswith("P") or any(low <= code <= high for low, high in CJK)


def words(text: str) -> Iterator[str]:
    """Lower-case words without accents."""
    kept = "".join(" " if _is_space(c) else "" if _is_dropped(c) else c for c in text)
    # Lower-casing one character can give several, one of them a mark; so marks go last.
    plain = "".join(c for c in unicodedata.normalize("NFD", kept.lower()) if unicodedata.category(c) != "Mn")
    word = ""
    for c in plain + " ":
        alone = _stands_alone(c)
        if alone or _is_space(c):
            if word:
                yield word
            word = ""
            if alone:
                yield c
        else:
            word += c


class Tokenizer:
    LONGEST_WORD = 100

    def __init__(self, vocabulary: pathlib.Path, max_length: int = 256) -> None:
        with open(vocabulary, encoding="utf-8") as lines:
            self.pieces = [line.rstrip("\n") for line in lines]
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.pad, self.unknown, self.start, self.end = (self.ids[p] for p in ("[PAD]", "[UNK]", "[CLS]", "[SEP]"))
        self.longest_piece = max(map(len, self.pieces))
        self.max_length = max_length

    def word(self, word: str) -> list[int]:
        """The pieces of one word, or [UNK] where some of it is in no piece."""
        if len(word) > self.LONGEST_WORD:
            return [self.unknown]
        found, start = [], 0
        while start < len(word):
            lead = "##" if start else ""
            for end in range(min(len(word), start + self.longest_piece), start, -1):
                piece = self.ids.get(lead + word[start:end])
                if piece is not None:
                    break
            else:
                return [self.unknown]
            found.append(piece)
            start = end
        return found

    def encode(self, text: str) -> list[int]:
        """[CLS], the pieces of the text (as many as fit), [SEP]."""
        found: list[int] = []
        for word in words(text):
            found += self.word(word)
            if len(found) > self.max_length - 2:
                break
        return [self.start, *found[: self.max_length - 2], self.end]

    def batch(self, texts: Iterable[str]) -> tuple[np.ndarray, np.ndarray]:
        """Tokens as one array, as long as the longest text, and where it holds a text's own tokens."""
        rows = [self.encode(text) for text in texts]
        tokens = np.full((len(rows), max(map(len, rows), default=0)), self.pad, np.int64)
        for row, ids in zip(tokens, rows):
            row[: len(ids)] = ids
        lengths = np.array([len(ids) for ids in rows], np.int64)
        return tokens, np.arange(tokens.shape[1]) < lengths[:, None]
