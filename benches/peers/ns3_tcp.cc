// What TCP in virtual time costs ns-3: flows over one point-to-point link, as scripts/bench-ns3 has wirecost simulate them.
//
//     ns3_tcp FLOWS INTERVAL_S SIZE_B SECONDS RATE_BPS DELAY_S LOSS QUEUE_PACKETS SEED
//
// Each flow is a connection that writes SIZE_B bytes every INTERVAL_S seconds, without Nagle's algorithm; flows are spread evenly
// over the interval. Both directions of the link have the rate, the delay, the loss and a queue of so many packets. It prints a line of
// JSON: IP packets that both ends sent, bytes that arrived, and CPU seconds of the simulation, without what comes before and after it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

std::uint64_t packets = 0;

void Sent(Ptr<const Packet>, Ptr<Ipv4>, std::uint32_t) { ++packets; }

double CpuSeconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) { return time.tv_sec + time.tv_usec / 1e6; };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// A device that writes a message at every interval.
class Device {
  public:
    Device(Ptr<Node> node, Address server, std::uint32_t size, Time interval, Time until)
        : socket(Socket::CreateSocket(node, TcpSocketFactory::GetTypeId())), size(size), interval(interval), until(until) {
        socket->Connect(server);
    }

    void Write() {
        if (Simulator::Now() >= until) {
            return;
        }
        if (socket->Send(Create<Packet>(size)) < 0) {
            ++refused;
        }
        Simulator::Schedule(interval, &Device::Write, this);
    }

    std::uint64_t refused = 0;

  private:
    Ptr<Socket> socket;
    std::uint32_t size;
    Time interval;
    Time until;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 10) {
        std::fprintf(stderr, "usage: ns3_tcp FLOWS INTERVAL_S SIZE_B SECONDS RATE_BPS DELAY_S LOSS QUEUE_PACKETS SEED\n");
        return 2;
    }
    const auto flows = std::strtoul(argv[1], nullptr, 10);
    const Time interval = Seconds(std::atof(argv[2]));
    const auto size = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
    const Time seconds = Seconds(std::atof(argv[4]));
    const std::string rate = std::string(argv[5]) + "bps", delay = std::string(argv[6]) + "s", queue = std::string(argv[8]) + "p";
    const double loss = std::atof(argv[7]);
    RngSeedManager::SetSeed(static_cast<std::uint32_t>(std::strtoul(argv[9], nullptr, 10)));

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));

    NodeContainer nodes(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetDeviceAttribute("Mtu", UintegerValue(1500));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(queue));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // One queue in front of the rate, as in the other simulator: without the queue discipline that comes with the addresses.
    TrafficControlHelper().Uninstall(devices);
    for (std::uint32_t end = 0; loss > 0 && end < 2; ++end) {
        Ptr<RateErrorModel> model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(loss);
        devices.Get(end)->SetAttribute("ReceiveErrorModel", PointerValue(model));
    }

    const std::uint16_t port = 9;
    PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sink = sinks.Install(nodes.Get(1));
    for (std::uint32_t end = 0; end < 2; ++end) {
        nodes.Get(end)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("Tx", MakeCallback(&Sent));
    }

    const Time begin = Seconds(5);
    const Time until = begin + seconds;
    std::vector<Device> clients;
    clients.reserve(flows);
    for (unsigned long flow = 0; flow < flows; ++flow) {
        clients.emplace_back(nodes.Get(0), InetSocketAddress(interfaces.GetAddress(1), port), size, interval, until);
        Simulator::Schedule(begin + interval * static_cast<double>(flow) / static_cast<double>(flows), &Device::Write, &clients.back());
    }
    // What was lost last is sent again after the last message.
    Simulator::Stop(until + Seconds(30));
    const double before = CpuSeconds();
    Simulator::Run();
    const double used = CpuSeconds() - before;

    std::uint64_t refused = 0;
    for (const Device& client : clients) {
        refused += client.refused;
    }
    const auto arrived = DynamicCast<PacketSink>(sink.Get(0))->GetTotalRx();
    std::printf("{\"packets\": %llu, \"arrived_bytes\": %llu, \"refused\": %llu, \"cpu_s\": %.6f}\n",
                static_cast<unsigned long long>(packets), static_cast<unsigned long long>(arrived),
                static_cast<unsigned long long>(refused), used);
    Simulator::Destroy();
    return 0;
}
