# The set-up of peers.rs in ns-2: one-way TCP agents through one link with tail drop; nothing is traced.
# Arguments: Mbit/s, RTT in ms, flows, limit in packets, seconds. Prints how many packets were delivered in order.
remove-all-packet-headers
add-packet-header Flags IP TCP
lassign $argv rate rtt flows limit seconds
set ns [new Simulator]
$ns use-scheduler Calendar
set near [$ns node]
set far [$ns node]
$ns simplex-link $near $far ${rate}Mb [expr $rtt / 2.0]ms DropTail
$ns simplex-link $far $near ${rate}Mb [expr $rtt / 2.0]ms DropTail
$ns queue-limit $near $far $limit
$ns queue-limit $far $near 1000
Agent/TCP set packetSize_ 1460
Agent/TCP set window_ 100000
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ 0.2
set draw [new RNG]
$draw seed 1
for {set i 0} {$i < $flows} {incr i} {
    set tcp($i) [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $ns attach-agent $near $tcp($i)
    $ns attach-agent $far $sink
    $ns connect $tcp($i) $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp($i)
    $ns at [$draw uniform 0 0.1] "$ftp start"
}
proc finish {} {
    global tcp flows
    set delivered 0
    for {set i 0} {$i < $flows} {incr i} {
        incr delivered [expr int([$tcp($i) set ack_]) + 1]
    }
    puts "delivered $delivered"
    exit 0
}
$ns at $seconds finish
$ns run
