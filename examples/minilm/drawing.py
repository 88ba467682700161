"""A compiled program as an SVG: one box for each kernel launch, arrows along the data."""

import re
from html import escape

WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 330, 58, 24, 34, 24
COLOURS = ("#dbeafe", "#dcfce7", "#fef3c7", "#fce7f3", "#ede9fe", "#cffafe", "#ffedd5", "#e5e7eb")


def names(location):
    """The user's own names on the way to a launch, outermost first."""
    path = re.search(r"\(([^()]*)\)$", location)
    parts = path.group(1).split(" / ") if path else []
    return [p.removesuffix(".forward") for p in parts]


def _layers(steps):
    """For each step its row: one below the lowest of the steps that it reads."""
    maker, rows, edges = {}, [], []
    for number, (_, _, inputs, outputs, _) in enumerate(steps):
        sources = sorted({maker[b] for b in inputs if b in maker})
        rows.append(max((rows[s] + 1 for s in sources), default=0))
        edges += [(s, number) for s in sources]
        maker.update((b, number) for b in outputs)
    return rows, edges


def svg(summary, title):
    """The text of the picture."""
    steps = summary["steps"]
    types = [b[2] for b in summary["buffers"]]
    rows, edges = _layers(steps)
    count = max(rows, default=-1) + 1
    members = [[n for n, r in enumerate(rows) if r == row] for row in range(count)]
    widest = max(map(len, members), default=1)
    middle = MARGIN + (widest * (WIDTH + GAP_X) - GAP_X) / 2
    place = {}
    for row, in_row in enumerate(members):
        left = middle - (len(in_row) * (WIDTH + GAP_X) - GAP_X) / 2
        for i, n in enumerate(in_row):
            place[n] = (left + i * (WIDTH + GAP_X), MARGIN + 40 + row * (HEIGHT + GAP_Y))
    width, height = 2 * middle + 120, 2 * MARGIN + 40 + count * (HEIGHT + GAP_Y)
    kernels = list(summary["kernels"])
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="sans-serif" font-size="12">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#64748b"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{MARGIN}" y="{MARGIN + 8}" font-size="16">{escape(title)}: {len(kernels)} kernels, {len(steps)} launches</text>',
    ]
    for source, target in edges:
        (x0, y0), (x1, y1) = place[source], place[target]
        x0, x1, y0 = x0 + WIDTH / 2, x1 + WIDTH / 2, y0 + HEIGHT
        if rows[target] - rows[source] == 1:
            bend = f"C{x0:.0f} {y0 + GAP_Y / 2:.0f} {x1:.0f} {y1 - GAP_Y / 2:.0f} {x1:.0f} {y1:.0f}"
        else:  # past the rows between, beside the boxes
            side = 2 * middle - MARGIN + 60
            x0, x1 = x0 + WIDTH / 4, x1 + WIDTH / 4
            bend = f"C{side:.0f} {y0 + GAP_Y:.0f} {side:.0f} {y1 - GAP_Y:.0f} {x1:.0f} {y1:.0f}"
        out.append(f'<path d="M{x0:.0f} {y0:.0f}{bend}" fill="none" stroke="#64748b" marker-end="url(#tip)"/>')
    for n, (kind, kernel, _, outputs, location) in enumerate(steps):
        x, y = place[n]
        path = names(location)
        colour = COLOURS[kernels.index(kernel) % len(COLOURS)] if kernel in kernels else "white"
        label = [
            f"{kernel or kind}  {path[-1] if path else ''}",
            " / ".join(path[1:-1]),
            ", ".join(types[b] for b in outputs),
        ]
        where = re.sub(r"^[^ (]*/", "", location)  # without the folders
        out.append(f"<g><title>{escape(where)}</title>")
        out.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{colour}" stroke="#475569"/>')
        for i, text in enumerate(label):
            weight = ' font-weight="bold"' if i == 0 else ""
            shown = text if len(text) <= 52 else "..." + text[-49:]
            out.append(f'<text x="{x + 10:.0f}" y="{y + 17 + 16 * i:.0f}"{weight}>{escape(shown)}</text>')
        out.append("</g>")
    return "\n".join([*out, "</svg>", ""])
