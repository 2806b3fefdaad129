#!/bin/sh
# upstream of a cable modem: DOCSIS-PIE behind a token bucket
tc qdisc replace dev cm0 root handle 1: stab overhead 18 mpu 64 tbf rate 40mbit burst 40kb latency 300ms peakrate 100mbit mtu 1600
tc qdisc add dev cm0 parent 1:1 handle 10: pie limit 1000 target 10ms tupdate 16ms alpha 2 beta 20 noecn
