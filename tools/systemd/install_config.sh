#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a file of options, unless there is one, which may have been edited.
set -e
to=$DESTDIR$2/stoke/daemon.conf
[ -e "$to" ] && exit
mkdir -p "$(dirname "$to")"
cp "$1" "$to"
chmod 644 "$to"
