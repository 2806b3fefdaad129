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
Queue/DropTail set drop_front_ false
Queue/DropTail set limit_ 44
Queue/DropTail set queue_in_bytes_ false
$ns simplex-link $left $right 4300000 0.017 DropTail
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
proc udp {i size} {
    global udp
    set udp($i) [new Agent/UDP]
    $udp($i) set fid_ $i
    $udp($i) set packetSize_ $size
    return [list $udp($i) [new Agent/Null]]
}
# Send a datagram at each time, from index k on.
proc datagram {i size k} {
    global ns udp times
    $udp($i) send $size
    incr k
    if {$k < [llength $times($i)]} { $ns at [lindex $times($i) $k] "datagram $i $size $k" }
}

# flows[0]
foreach {i start} {
    0 0.218942286 1 0.640614854
} {
    join [tcp $i TCP/Newreno TCPSink 1460 20 4 0] $left $right 43000000 0.018 ""
    $ns at $start "$tcp($i) advanceby 275"
}

# flows[1]
foreach i {2} { join [udp $i 200] $left $right "" "" "" }
set times(2) {
    0.304987017 0.329987017 0.354987017 0.379987017 0.404987017 0.429987017 0.454987017 0.479987017
    0.504987017 0.529987017 1.264378773 1.289378773 1.314378773 1.339378773 1.364378773 1.389378773
    1.414378773 1.439378773 1.464378773 1.489378773 1.514378773 1.539378773 1.564378773 1.589378773
    1.614378773 1.639378773 1.664378773 1.689378773 1.714378773 1.739378773 1.764378773 1.789378773
    1.814378773 1.839378773 1.864378773 1.889378773 1.914378773 1.939378773 1.964378773 1.989378773
    2.014378773 2.039378773 2.064378773 2.089378773 2.114378773 2.139378773 2.164378773 2.189378773
    2.214378773 2.239378773 2.264378773 2.289378773 2.314378773 2.339378773 2.364378773 2.389378773
    2.414378773 2.439378773 2.464378773 2.489378773 2.514378773 2.539378773 2.564378773 2.589378773
    2.614378773 2.639378773 2.664378773 2.689378773 2.714378773 2.739378773 2.764378773 2.789378773
    2.814378773 2.839378773 2.864378773 2.889378773 2.914378773 2.939378773 2.964378773 2.989378773
    3.014378773 3.039378773 3.064378773 3.089378773 3.114378773 3.139378773 3.164378773 3.189378773
    3.214378773 3.239378773 3.264378773 3.289378773 3.314378773 3.339378773 3.364378773 3.389378773
    3.414378773 3.439378773 3.464378773 3.489378773 3.514378773 3.539378773 3.564378773 3.589378773
    3.614378773 3.639378773 3.664378773 3.689378773
}
$ns at 0.304987017 "datagram 2 200 0"

# Windows of the senders at each step.
proc sample {} {
    global ns tcp
    foreach i [lsort -integer [array names tcp]] {
        set window "[$tcp($i) set cwnd_] [$tcp($i) set ssthresh_]"
        set out [expr {[$tcp($i) set t_seqno_] - [$tcp($i) set ack_] - 1}]
        puts "sample [$ns now] $i $window [$tcp($i) set srtt_] $out"
    }
}
for {set i 1} {$i <= 10} {incr i} { $ns at [expr {$i * 0.37}] sample }


proc progress {share} {
    puts "@ $share"
    flush stdout
}
for {set i 1} {$i < 100} {incr i} {
    $ns at [expr {$i * double(3.7) / 100}] "progress [expr {$i / 100.0}]"
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
$ns at 3.7 "$ns at 3.7 finish"
$ns run
