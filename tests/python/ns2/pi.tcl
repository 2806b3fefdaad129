# A run: a scenario of Sojourn, seed 7. ns FILE [TRACE] runs it.
# TRACE gets what happens at the queues of the bottlenecks, the standard output what the senders know at the end.
set trace [open [expr {$argc > 0 ? [lindex $argv 0] : "out.tr"}] w]
set ns [new Simulator]
$defaultRNG seed 67779
ns-random 67779
Queue set limit_ 1000000

set left [$ns node]
set right [$ns node]

# link
Queue/PI set a_ 0.0003
Queue/PI set b_ 0.00029
Queue/PI set w_ 97
Queue/PI set qref_ 13
Queue/PI set mean_pktsize_ 500
Queue/PI set bytes_ false
Queue/PI set queue_in_bytes_ false
Queue/PI set setbit_ true
Queue/PI set limit_ 43
$ns simplex-link $left $right 4300000 0.017 PI
$ns trace-queue $left $right $trace

# reverse
Queue/DropTail set drop_front_ false
Queue/DropTail set limit_ 1001
Queue/DropTail set queue_in_bytes_ false
$ns simplex-link $right $left 4300000 0.017 DropTail
$ns trace-queue $right $left $trace

# Return a source's node: its own behind an access link if that has a rate.
proc home {near rate delay host} {
    global ns
    if {$rate eq ""} { return $near }
    if {$host eq ""} { set host [$ns node] }
    $ns duplex-link $host $near $rate $delay DropTail
    return $host
}
proc join {agents near far rate delay host} {
    global ns
    foreach {source sink} $agents {}
    $ns attach-agent [home $near $rate $delay $host] $source
    $ns attach-agent $far $sink
    $ns connect $source $sink
}
proc tcp {i kind sink size window initial ecn} {
    global ns tcp ftp sinks
    set tcp($i) [new Agent/$kind]
    set sinks($i) [new Agent/$sink]
    $tcp($i) set fid_ $i
    $tcp($i) set packetSize_ $size
    $tcp($i) set window_ $window
    $tcp($i) set windowInit_ $initial
    $tcp($i) set ecn_ $ecn
    set ftp($i) [new Application/FTP]
    $ftp($i) attach-agent $tcp($i)
    return [list $tcp($i) $sinks($i)]
}

# flows[0]
foreach {i start} {
    0 0.218942286 1 0.640614854
} {
    join [tcp $i TCP/Newreno TCPSink 1460 20 4 1] $left $right 43000000 0.018 ""
    $ns at $start "$ftp($i) start"
}

proc progress {share} {
    puts "@ $share"
    flush stdout
}
for {set i 1} {$i < 100} {incr i} {
    $ns at [expr {$i * double(4) / 100}] "progress [expr {$i / 100.0}]"
}

proc finish {} {
    global ns tcp trace
    $ns flush-trace
    close $trace
    foreach i [lsort -integer [array names tcp]] {
        puts "flow $i [$tcp($i) set ndatapack_] [$tcp($i) set nrexmitpack_] [$tcp($i) set nrexmit_]"
    }
    puts done
    flush stdout
    exit 0
}
array set tcp {}
# After all other events at that instant.
$ns at 4 "$ns at 4 finish"
$ns run
