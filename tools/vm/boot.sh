#!/bin/busybox sh
# First process of the machine: makes a root from the files of this computer, and a disk for what changes.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /wanted); do modprobe "$module"; done
share=trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro
mkdir -p /host /disk /new
mount -t 9p -o $share host /host || poweroff -f
mount -t ext4 /dev/vda /disk || poweroff -f
mkdir -p /disk/upper /disk/work
mount -t overlay -o lowerdir=/host,upperdir=/disk/upper,workdir=/disk/work overlay /new || poweroff -f
mkdir -p /new/vm /new/usr/lib/modules
mount --move /disk /new/vm
mount -t 9p -o $share modules /new/usr/lib/modules
cp /bin/busybox /guest.sh /job.sh /new/vm
for place in proc sys dev; do mount --move /$place /new/$place; done
exec switch_root /new /bin/sh /vm/guest.sh
