# Sourced by common/run, common/test and .ci/run: what they need on a fresh machine, and the build.
# Everything it says goes to stderr, so that a program's output stays its own.

psflip_root=$(CDPATH='' cd -- "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Debian 12 and Ubuntu 24.04 packages. package:command counts as there if the command is, wherever it came from.
# shellcheck disable=SC2034  # whoever sources this uses it
psflip_packages=(
  g++:g++ cmake:cmake ninja-build:ninja python3:python3
  libboost-context-dev libcli11-dev nlohmann-json3-dev libpng-dev
  libgtest-dev libgmock-dev libbenchmark-dev libeigen3-dev libsuitesparse-dev
  libopenmpi-dev openmpi-bin git:git
)

psflip_say() { printf 'psFlip: %s\n' "$*" >&2; }

psflip_has() {  # package[:command]
  if [[ $1 == *:* ]] && command -v "${1#*:}" >/dev/null; then return 0; fi
  [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "${1%%:*}" 2>/dev/null) == ii* ]]
}

# psflip_install package[:command]...: installs what is missing, and nothing else.
psflip_install() {
  local entry missing=() as_root=()
  for entry in "$@"; do
    psflip_has "$entry" || missing+=("${entry%%:*}")
  done
  ((${#missing[@]})) || return 0

  ((EUID == 0)) || as_root=(sudo)
  local by_hand="${as_root[*]}${as_root[*]:+ }apt-get install ${missing[*]}"
  if ! command -v apt-get >/dev/null; then
    psflip_say "this machine has no apt-get. Install what Debian calls ${missing[*]}, then call again with --no-install"
    exit 2
  fi
  # Without a terminal nobody can type a password.
  if ((EUID != 0)) && ! { command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; }; then
    psflip_say "packages are missing, and installing them takes root's rights: $by_hand"
    exit 2
  fi
  psflip_say "installing ${missing[*]}"
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  if ! { "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}"; } >/dev/null; then
    psflip_say "could not install them; try by hand: $by_hand"
    exit 2
  fi
}

# psflip_build folder [--cuda | --no-cuda] [cmake option...] [--target target...]: configures if needed, builds with all
# cores, quietly. A folder that somebody configured by hand is built as it is.
psflip_build() { python3 -S "$psflip_root/common/tools/build.py" "$@"; }
