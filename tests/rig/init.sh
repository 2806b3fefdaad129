#!/bin/busybox sh
# First process of the machine of tests/kernel_rig.py: each step prints its name behind `##` and its results.
/bin/busybox --install -s /bin
export PATH=/bin TC_LIB_DIR=/rig LD_LIBRARY_PATH=/lib
# busybox has commands of these names.
ip() { /rig/ip "$@"; }
tc() { /rig/tc "$@"; }
peer() { /rig/ip netns exec peer "$@"; }

step() { echo "## $1"; }
memory() { echo 3 > /proc/sys/vm/drop_caches; awk '/^MemFree/ { print "free", $2, "kB" }' /proc/meminfo; }
show() { tc -s qdisc show dev v0; }
shape() {
	tc qdisc add dev v0 root handle 1: tbf rate 8mbit burst 5kb latency 400ms
	tc qdisc add dev v0 parent 1:1 handle 2: sojourn "$@"
}
pair() {
	ip link add v0 type veth peer name v1
	ip link set v1 netns peer
	ip address add 10.0.0.1/24 dev v0
	ip link set v0 up
	peer /rig/ip address add 10.0.0.2/24 dev v1
	peer /rig/ip link set v1 up
	ping -q -c 1 10.0.0.2 > /dev/null
}
udp() {
	peer /rig/traffic receive 5000 2 > /run/received &
	receiver=$!
	sleep 0.5
	/rig/traffic send 10.0.0.2 5000 1200 1250 "$1" "$2"
	wait $receiver
	cat /run/received
}

mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
mount -t tmpfs run /run
mkdir /run/netns
dmesg -n 1
for module in sch_tbf veth; do insmod /rig/$module.ko; done
ip netns add peer
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1
peer sysctl -q -w net.ipv6.conf.all.disable_ipv6=1
pair

step kernel
uname -r
step load
memory
insmod /rig/sojourn.ko && echo loaded
step mark
shape codel@act target 7ms ecn
udp 4 2
show
step drop
tc qdisc replace dev v0 parent 1:1 handle 3: sojourn codel@act target 7ms
udp 4 2
show
step record
echo 1 > /sys/module/sojourn/parameters/log
tc qdisc del dev v0 root
shape codel@act target 7ms ecn
log=$(echo /sys/kernel/debug/sojourn/*)
ls -l $log
cat $log > /run/log &
reader=$!
udp 3 2
tc qdisc replace dev v0 parent 1:1 handle 3: sojourn codel@act target 7ms
wait $reader
echo 0 > /sys/module/sojourn/parameters/log
gzip -c /run/log | base64
step change
tc qdisc change dev v0 parent 1:1 sojourn limit 50packets codel@act target 20ms ecn
show
step refuse
tc qdisc change dev v0 parent 1:1 sojourn nonsense 2>&1
tc qdisc change dev v0 parent 1:1 sojourn codel@act target 5 2>&1
tc qdisc replace dev v0 parent 1:1 handle 4: sojourn limit many codel@act 2>&1
tc qdisc replace dev v0 parent 1:1 handle 4: sojourn limit 2000000000packets codel@act 2>&1
step replace
/rig/traffic send 10.0.0.2 5001 1200 2000 1000 2 &
flood=$!
done=0
for i in $(seq 50); do
	tc qdisc replace dev v0 parent 1:1 handle $((100 + i)): \
		sojourn limit $((i * 20))packets codel@act target $((i % 9 + 1))ms ecn && done=$((done + 1))
	tc qdisc change dev v0 parent 1:1 sojourn limit $(((51 - i) * 30))packets codel@act target 5ms ecn && done=$((done + 1))
done
kill $flood
sleep 3
echo "done $done"
show
step remove
/rig/traffic send 10.0.0.2 5001 1200 2000 1000 2 &
flood=$!
rmmod sojourn 2> /dev/null || echo "in use"
for i in $(seq 5); do
	tc qdisc del dev v0 root
	shape codel@act target 7ms ecn
	sleep 0.2
	ip link del v0
	pair
done
kill $flood
sleep 1
rmmod sojourn && echo unloaded
step reload
for i in $(seq 20); do insmod /rig/sojourn.ko && rmmod sojourn && echo again; done
memory
step fault
insmod /rig/fault.ko
shape codel@act target 7ms ecn
ip link set v0 txqueuelen 100
udp 4 2
show
tc qdisc change dev v0 parent 1:1 sojourn codel@act target 9ms 2>&1
step recover
tc qdisc replace dev v0 parent 1:1 handle 3: sojourn codel@act target 7ms ecn
udp 1 2
show
tc qdisc del dev v0 root
rmmod sojourn && echo unloaded
memory
step log
dmesg | grep -E 'Oops|BUG:|WARNING:|Call Trace|stall|lockup|sojourn:'
step end
poweroff -f
