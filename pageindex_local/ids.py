"""Names and content hashes: text in, short stable strings out. Nothing here reads a file or knows a position."""

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterable

_SLUG_PARTS = re.compile(r"[^a-z0-9]+")
_SPACES = re.compile(r"\s+")
_SECTION_NUMBER = re.compile(
    r"^(?:(?:chapter|section|part|appendix|annex|article|item|§)\s+)?"
    r"(?:\d+|[ivxlc]+(?=[.)])|[a-z](?=[.)\d]))(?:[.\-]\d+)*[.):]*\s+(?=\S)",
    re.IGNORECASE,
)
_SOFT_HYPHEN = "\u00ad"
NODE_ID_PATTERN = r"^n[a-z2-7]{13}$"
DOC_KEY_PATTERN = r"^[a-z0-9]+(?:-[a-z0-9]+)*-[0-9a-f]{10}$"


def sha256_hex(data: bytes) -> str:
    """SHA-256 of bytes as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def hash_parts(parts: Iterable[str]) -> str:
    """SHA-256 over several strings, each framed by its length, so that no two lists of parts collide by joining."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def make_doc_key(doc_id: str) -> str:
    """A name for a document that is safe as a folder and as a partition key: a short slug and ten hash digits."""
    ascii_text = unicodedata.normalize("NFKD", doc_id).encode("ascii", "ignore").decode().lower()
    slug = _SLUG_PARTS.sub("-", ascii_text).strip("-")[:40].strip("-") or "doc"
    return f"{slug}-{sha256_hex(doc_id.encode('utf-8', 'surrogatepass'))[:10]}"


def mint_node_id(doc_id: str, born_in: str, title_path: Iterable[str], occurrence: int) -> str:
    """A node id: `n` and 13 base-32 digits (65 bits), the same for the same arguments.

    Called once in a node's life. Afterwards the id is carried, never computed again. `born_in` names the version in
    which the node first appeared, `occurrence` counts equal title paths within that version from 0.
    """
    digest = hashlib.sha256(hash_parts([doc_id, born_in, *title_path, str(occurrence)]).encode()).digest()
    return "n" + base64.b32encode(digest).decode().lower()[:13]


def normalise_text(text: str) -> str:
    """Text as it counts for identity: NFKC, soft hyphens dropped, white space folded."""
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text).replace(_SOFT_HYPHEN, "")).strip()


def normalise_title(title: str) -> str:
    """A title as it counts for identity: like text, case folded, without a leading section number."""
    text = normalise_text(title)
    return (_SECTION_NUMBER.sub("", text, count=1) or text).casefold()


def own_hash(title: str, own_text: str) -> str:
    """Identity of a node by itself: its title and the text that no child holds."""
    return hash_parts([normalise_title(title), normalise_text(own_text)])


def subtree_hash(own: str, children: Iterable[str]) -> str:
    """Merkle hash of a node over its own hash and its children's subtree hashes, in order."""
    return hash_parts(["subtree", own, *children])
