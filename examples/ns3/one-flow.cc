/* One TCP flow over a link of 10 Mbit/s and 20 ms under a queue disc, and every decision of the disc:
 *
 *   one-flow "codel target 7.5ms ecn" 20          a queue manager by its text, and seconds
 *
 * A line is an event at the disc: its time in nanoseconds, what happened, and the packet's number, bytes, ECN field and
 * flow. `+` is offered, `-` taken for transmission (with its ECN field then), `?` asked for in vain, `d` dropped, with
 * the reason in place of the ECN field. */
#include "sojourn-queue-disc.h"

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

using namespace ns3;

namespace
{

std::map<const QueueDiscItem*, int> g_numbers; //!< of the packets in the disc
int g_next = 0;

void
Print(char event, Ptr<const QueueDiscItem> item, const std::string& about)
{
    std::printf("%lld %c %d %u %s %u\n",
                static_cast<long long>(Simulator::Now().GetNanoSeconds()),
                event,
                g_numbers.at(PeekPointer(item)),
                item->GetSize(),
                about.c_str(),
                item->Hash());
}

std::string
EcnOf(Ptr<const QueueDiscItem> item)
{
    uint8_t field = 0;
    item->GetUint8Value(QueueItem::IP_DSFIELD, field);
    return std::to_string(field & 3);
}

void
Offered(Ptr<const QueueDiscItem> item)
{
    g_numbers[PeekPointer(item)] = g_next++;
    Print('+', item, EcnOf(item));
}

void
Asked(Ptr<const QueueDiscItem> item)
{
    if (!item)
    {
        std::printf("%lld ?\n", static_cast<long long>(Simulator::Now().GetNanoSeconds()));
        return;
    }
    Print('-', item, EcnOf(item));
    g_numbers.erase(PeekPointer(item));
}

void
Dropped(Ptr<const QueueDiscItem> item, const char* reason)
{
    std::string word(reason);
    std::replace(word.begin(), word.end(), ' ', '-');
    Print('d', item, word);
    g_numbers.erase(PeekPointer(item));
}

} // namespace

int
main(int argc, char** argv)
{
    const std::string manager = argc > 1 ? argv[1] : "codel";
    const double seconds = argc > 2 ? std::stod(argv[2]) : 20;
    const bool ecn = manager.find("ecn") != std::string::npos;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    link.SetChannelAttribute("Delay", StringValue("20ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p")); // what waits, waits in the disc
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);

    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::SojournQueueDisc", "Manager", StringValue(manager), "Rate", StringValue("10Mbps"));
    Ptr<QueueDisc> disc = control.Install(devices.Get(0)).Get(0);
    disc->TraceConnectWithoutContext("Offered", MakeCallback(&Offered));
    disc->TraceConnectWithoutContext("Asked", MakeCallback(&Asked));
    disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Dropped));
    disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Dropped));

    Ipv4AddressHelper addresses("10.1.1.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 5001));
    sender.Install(nodes.Get(0)).Start(Seconds(0.1));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
    sink.Install(nodes.Get(1));
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    Simulator::Destroy();
    return 0;
}
