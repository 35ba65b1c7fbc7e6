"""The measured speeds of all kernels over what they could have: updates per byte from memory, and its bandwidth."""

from pictures import plots

LABEL = {"fontsize": "x-small", "textcoords": "offset points", "xytext": (4, 3)}


def save(file, rows, device):
    """rows: as count.py writes them, with what ncu measured."""
    figure, axes = plots.subplots(figsize=(8, 5))
    points = {}
    for row in rows:
        moved = (row["read_bytes"] + row["written_bytes"]) / row["updated_spins"]
        speed = row["updated_spins"] / row["ncu"]["microseconds"] / 1e3
        points.setdefault(row["stage"][:2], []).append((1 / moved, speed, row["launch"]))
    for number, own in sorted(points.items()):
        x, y, _ = zip(*own, strict=True)
        axes.plot(x, y, "o", markersize=5, label=f"stage {number}")
    for number, own in sorted(points.items()):
        x, y, launch = max(own, key=lambda point: point[1])
        axes.annotate(f"{number}: {launch}", (x, y), **LABEL)
    ends = [f(x for own in points.values() for x, *_ in own) for f in (min, max)]
    ends = [ends[0] / 2, ends[1] * 4]
    axes.plot(ends, [x * device.memory / 1e9 for x in ends], color="gray", linewidth=1)
    axes.annotate(
        f"memory of the {device.title}: {device.memory / 1e12:.2f} TB/s",
        (ends[1], ends[1] * device.memory / 1e9),
        **LABEL | {"xytext": (-8, 2), "ha": "right"},
    )
    axes.set(
        xscale="log", yscale="log", xlabel="updated spins per byte from and to memory", ylabel="updated spins per ns"
    )
    axes.legend(fontsize="small", loc="lower right")
    plots.save(figure, file)
