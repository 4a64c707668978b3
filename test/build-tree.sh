# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# In a guest: put the tree of its kernel where bcc finds the headers that it compiles against.
mkdir -p "/lib/modules/$(uname -r)"
ln -sfn "$REPO/.build/obj/$KERNEL" "/lib/modules/$(uname -r)/build"
if [ "$KERNEL" = base ]; then
	ln -sfn "$REPO/.build/linux-base" "/lib/modules/$(uname -r)/source"
else
	ln -sfn "$REPO/.build/linux" "/lib/modules/$(uname -r)/source"
fi
