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
# PackMime's web traffic; each connection is a flow, numbered after the sources.
set file [expr {$argc > 0 ? [lindex $argv 0] : "out.tr"}]
proc packmime {i server client kind rate persistent settings} {
    global packmime file
    set pm [new PackMimeHTTP]
    foreach {name value} [list source $i kind $kind settings $settings] { $pm set $name $value }
    $pm set-client $client
    $pm set-server $server
    $pm set-rate $rate
    if {$persistent} { $pm set-http-1.1 }
    $pm set-samples-outfile $file.asked.$i
    $pm set-outfile $file.answered.$i
    set packmime($i) $pm
}
PackMimeHTTP instproc alloc-tcp {type} {
    $self instvar kind settings
    set tcp [new Agent/TCP/FullTcp$kind]
    foreach {name value} $settings { $tcp set $name $value }
    return $tcp
}
# Called for the server's end of a connection, then for the client's.
PackMimeHTTP instproc setup-tcp {tcp number} {
    global ns connections
    $self instvar source flow server ends
    if {![info exists flow($number)]} {
        set flow($number) $connections
        set server($number) $tcp
        set ends($number) 2
        incr connections
        puts "opened $flow($number) $source [$ns now] [$tcp set agent_addr_].[$tcp port]"
    }
    $tcp set fid_ $flow($number)
    $tcp proc done {} "$self ended $number $tcp"
}
PackMimeHTTP instproc ended {number tcp} {
    global ns
    $self instvar source flow server ends
    if {[info exists server($number)] && $server($number) eq $tcp} { $self served $number }
    if {[incr ends($number) -1] == 0} { puts "closed $flow($number) $source [$ns now]" }
    $self recycle $tcp
}
# Print the counters of a connection's server, once.
PackMimeHTTP instproc served {number} {
    $self instvar source flow server
    set tcp $server($number)
    puts "served $flow($number) $source [$tcp set ndatapack_] [$tcp set nrexmitpack_] [$tcp set nrexmit_]"
    unset server($number)
}
# At the end, print the counters of open connections and the generator's files.
PackMimeHTTP instproc last {} {
    global file
    $self instvar source server
    foreach number [lsort -integer [array names server]] { $self served $number }
    foreach what {asked answered} {
        set written [open $file.$what.$source]
        while {[gets $written line] >= 0} { puts "$what $source $line" }
        close $written
        file delete $file.$what.$source
    }
}
set connections 5

# flows[0]
foreach {i start} {
    0 0.218942286 1 0.640614854
} {
    join [tcp $i TCP/Newreno TCPSink 1460 20 4 0] $left $right 43000000 0.018 ""
    $ns at $start "$ftp($i) start"
}

# flows[1]
packmime 2 [home $right 9000000 0.018 ""] $left "/Newreno" 11.0 1 {segsize_ 961 window_ 20 windowInit_ 3 ecn_ 0}
$ns at 0 "$packmime(2) start"

# flows[2]
packmime 3 [home $left "" "" ""] $right "/Sack" 3.0 0 {segsize_ 536 window_ 20 windowInit_ 2 ecn_ 0}
$ns at 0 "$packmime(3) start"
$ns at 3.1 "$packmime(3) stop"
packmime 4 [home $left "" "" ""] $right "/Sack" 3.0 0 {segsize_ 536 window_ 20 windowInit_ 2 ecn_ 0}
$ns at 0 "$packmime(4) start"
$ns at 3.1 "$packmime(4) stop"

proc progress {share} {
    puts "@ $share"
    flush stdout
}
for {set i 1} {$i < 100} {incr i} {
    $ns at [expr {$i * double(4) / 100}] "progress [expr {$i / 100.0}]"
}

proc finish {} {
    global ns tcp trace packmime
    $ns flush-trace
    close $trace
    foreach i [lsort -integer [array names tcp]] {
        puts "flow $i [$tcp($i) set ndatapack_] [$tcp($i) set nrexmitpack_] [$tcp($i) set nrexmit_]"
    }
    foreach i [lsort -integer [array names packmime]] { $packmime($i) last }
    puts done
    flush stdout
    exit 0
}
array set tcp {}
# After all other events at that instant.
$ns at 4 "$ns at 4 finish"
$ns run
