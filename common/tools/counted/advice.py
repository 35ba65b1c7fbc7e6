"""Which lines of a kernel cost more than what they move, or read what nobody wrote; in words."""

WORTH_A_WORD = 1.1  # sectors per request, of the least


def advice(entries):
    """[(line, what is wrong there)] for the lines of a launch as show.lines_of() gives them."""
    found = [(entry["line"], text) for entry in entries for text in remarks(entry)]
    return sorted(found)


def remarks(entry):
    requests, lanes = entry["requests"], entry["lanes"] / entry["requests"]
    kind = entry["kind"]
    if entry["unwritten"]:
        nobody = "no thread of the block" if entry["memory"] == "shared" else "nobody"
        memory = "device" if entry["memory"] == "global" else entry["memory"]
        yield f"reads {memory} memory that {nobody} has written: {entry['unwritten']:,} times"
    if lanes < 1.5:
        yield f"one lane of 32 is at work in a {kind}: {requests:,} requests, where {-(-requests // 32):,} could do"
    if entry["memory"] == "shared":
        if entry["conflicts"] > requests / 4:
            each, least = (entry["wavefronts"] / requests, (entry["wavefronts"] - entry["conflicts"]) / requests)
            yield f"bank conflicts: {each:.1f} wavefronts per {kind}, where {least:.1f} would do"
    elif entry["least_sectors"]:
        each, least = entry["sectors"] / requests, entry["least_sectors"] / requests
        if each >= 1.5 * least:
            yield f"lanes lie apart: {each:.1f} sectors per {kind}, where {least:.1f} would hold the same bytes"
        elif each >= WORTH_A_WORD * least:
            yield f"begins inside a sector: {each:.1f} sectors per {kind}, where {least:.1f} would hold the same bytes"
        elif entry["bytes_a_lane"] < 4 and lanes > 16:
            bytes_a_lane = entry["bytes_a_lane"]
            yield f"{bytes_a_lane} byte{'s' * (bytes_a_lane > 1)} a lane: words would take fewer requests for the same"
