"""A PDF whose font is a bitmap one in tiny units: what a reader sees as ten points is read as that."""

from pathlib import Path
from typing import Any

from pageindex_local.parsing.glyph_sizes import GlyphSizes
from pageindex_local.parsing.pdf import parse_pdf
from tests.unit.parsing.pdfs import parse_settings, source_of, texts

# 40 units wide at 0.12 points a unit: 4.8 points a letter, the average of text of 10 points.
LETTER_UNITS, UNIT = 40, 0.12


def _pdf_with_bitmap_font(words: list[tuple[float, float, str]]) -> bytes:
    """A page with each word at its place in points; the font's own size is one unit of 0.12 points."""
    shows = " ".join(f"1 0 0 1 {x / UNIT:.2f} {y / UNIT:.2f} Tm ({word}) Tj" for x, y, word in words)
    content = f"q {UNIT} 0 0 {UNIT} 0 0 cm BT /F 1 Tf {shows} ET Q".encode()
    box = f"{LETTER_UNITS} 0 0 0 {LETTER_UNITS - 4} 60 d1 2 0 {LETTER_UNITS - 6} 60 re f".encode()
    names = " ".join(f"/{chr(code)}" for code in range(97, 123))
    glyphs = " ".join(f"/{chr(code)} 6 0 R" for code in range(97, 123))
    widths = " ".join([str(LETTER_UNITS)] * 26)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
            b" /Resources << /Font << /F 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        (
            "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 40 60] /FontMatrix [1 0 0 1 0 0]"
            " /FirstChar 97 /LastChar 122 "
            f"/Widths [{widths}] /CharProcs << {glyphs} >> /Encoding << /Differences [97 {names}] >> >>"
        ).encode(),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(box), box),
    ]
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return data + b"xref\n0 7\n0000000000 65535 f \n%strailer\n<< /Size 7 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(data),
    )


def test_parse_bitmap_font_gives_the_words_in_the_size_that_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "bitmap.pdf"
    advance = LETTER_UNITS * UNIT
    # 'wave' is set in two pieces with a kern of a tenth of a point; 'form' follows after a space.
    path.write_bytes(
        _pdf_with_bitmap_font(
            [
                (72, 700, "wa"),
                (72 + 2 * advance - 0.1, 700, "ve"),
                (72 + 4 * advance + 3.3, 700, "form"),
                (72, 680, "low"),
            ]
        )
    )
    document = parse_pdf(source_of(path), parse_settings())
    assert texts(document) == ["wave form", "low"]
    line = document.pages[0].lines[0]
    assert line.size == 10.0
    # The baseline is 92 points below the top of the page: letters stand on it.
    assert line.box[1] < 92 - 5 < 92 <= line.box[3] < 97


def test_correct_ordinary_and_hidden_text_stays_as_it_is() -> None:
    ordinary = {"size": 11.0, "text": "word", "bbox": (0, 0, 22, 11), "origin": (0, 9), "font": "Serif"}
    hidden = {"size": 0.5, "text": "word", "bbox": (0, 0, 1, 0.5), "origin": (0, 0.4), "font": "Serif"}
    blocks: list[dict[str, Any]] = [
        {"lines": [{"dir": (1, 0), "bbox": span["bbox"], "spans": [dict(span)]} for span in (ordinary, hidden)]}
    ]
    GlyphSizes().correct(blocks)
    assert [line["spans"][0] for line in blocks[0]["lines"]] == [ordinary, hidden]


def test_correct_same_font_has_the_size_of_its_first_page_on_all() -> None:
    sizes = GlyphSizes()
    found = []
    for width in (48.0, 52.0):  # ten letters: 10 points, then letters that happen to be wider
        span = {"size": 0.1, "text": "abcdefghij", "bbox": (0, 50, width, 50.1), "origin": (0, 50), "font": "Type3 (1)"}
        sizes.correct([{"lines": [{"dir": (1, 0), "bbox": span["bbox"], "spans": [span]}]}])
        found.append(span["size"])
    assert found == [10.0, 10.0]
