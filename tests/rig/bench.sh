#!/bin/busybox sh
# First process of the machine that counts instructions for tests/kernel_rig.py: each line on the console is a queue.
/bin/busybox --install -s /bin
export PATH=/bin TC_LIB_DIR=/rig LD_LIBRARY_PATH=/lib
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1
for module in dummy sch_codel sojourn; do insmod /rig/$module.ko; done
/rig/ip link add d0 type dummy
/rig/ip link set d0 up

count() {
	name=$1
	shift
	/rig/tc qdisc replace dev d0 root handle 1: "$@"
	insmod /rig/bench.ko 2> /dev/null
	echo "instructions $name $(dmesg | sed -n 's/.*bench: [a-z_]* //p' | tail -n 1)"
	/rig/tc qdisc del dev d0 root
}
count pfifo pfifo limit 1000
count codel codel ecn
count fq_codel fq_codel
count sojourn sojourn codel@act target 7ms ecn
# Without a reader, the ring has all records.
echo 16384 > /sys/module/sojourn/parameters/log_kib
echo 1 > /sys/module/sojourn/parameters/log
count logged sojourn codel@act target 7ms ecn
poweroff -f
