"""What `unshare` starts in namespaces of its own: takes away what a program may not write to, and then starts it.

    confine.py FOLDER READABLE... -- COMMAND...

FOLDER alone stays writable, READABLE are the folders below /tmp that stay visible. sandbox.py calls it.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SPARED = ("/proc", "/sys", "/dev")  # no files of anybody; a GPU's devices have to be written to


def mount(*options):
    subprocess.run(["mount", *options], check=True, capture_output=True)


def mount_points():
    with open("/proc/self/mounts") as file:
        points = [line.split()[1].encode().decode("unicode_escape") for line in file]
    return [point for point in points if not any(point == place or point.startswith(place + "/") for place in SPARED)]


def confine(folder, readable):
    mount("--make-rprivate", "/")
    # What has to be seen through the new /tmp is held open before it goes.
    held = [(place, os.open(place, os.O_PATH)) for place in (*readable, folder)]
    for point in mount_points():
        mount("-o", "remount,bind,ro", point)
    for place in ("/tmp", "/dev/shm"):
        mount("-t", "tmpfs", "tmpfs", place)
    for place, descriptor in held:
        os.makedirs(place, exist_ok=True)
        mount("--bind", "--no-canonicalize", f"/proc/{os.getpid()}/fd/{descriptor}", place)
        mount("-o", f"remount,bind,{'rw' if place == folder else 'ro'}", place)
        os.close(descriptor)
    os.chdir(folder)
    with socket.socket() as any_socket:  # MPI's processes talk to each other by the loopback device
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    libc = ctypes.CDLL(None)
    for capability in range(64):  # what root could undo all this with
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


if __name__ == "__main__":
    end = sys.argv.index("--")
    try:
        confine(sys.argv[1], sys.argv[2:end])
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        sys.exit(f"confine: {said.decode(errors='replace').strip()}")
    # The first process of a namespace is spared the signals that it sends itself, as abort() does: so the program is
    # the second. A signal that ends it is told as the shell tells it.
    program = os.fork()
    if program == 0:
        os.execvp(sys.argv[end + 1], sys.argv[end + 1 :])
    ended, status = 0, 0
    while ended != program:
        ended, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)
