//! Random scenarios as text: rows, graphs, wireless LANs, netem, changes, nested disciplines, warm-ups and short runs,
//! all with unusual numbers.

use sojourn_aqm::Rng;
use sojourn_aqm::registry::ALGORITHMS;

/// Generator of random scenarios.
pub struct ScenarioGenerator {
    rng: Rng,
    /// Length of the run in nanoseconds.
    duration_ns: u64,
}

impl ScenarioGenerator {
    /// Random stream of scenario `number` of a series.
    pub fn new(series: u64, number: u64) -> Self {
        Self { rng: Rng::stream(series, "invariants", number), duration_ns: 0 }
    }

    /// A scenario; some are invalid and rejected.
    pub fn scenario(&mut self) -> String {
        let longest = self.one_of(&[1_000, 37_123, 2_000_000, 60_000_000, 300_000_000, 900_000_000]);
        self.duration_ns = self.from(longest / 2 + 1, longest);
        let seed = self.from(0, 1 << 40);
        let mut text = format!("duration = \"{} ns\"\nseed = {seed}\n", self.duration_ns);
        match self.from(0, 5) {
            0..2 => {}
            2 => text += "warmup = \"auto\"\n",
            _ => text += &format!("warmup = \"{} ns\"\n", self.instant()),
        }
        let (network, ends, directions) = match self.from(0, 9) {
            0..2 => self.graph(),
            2..4 => self.cell(),
            _ => self.row(),
        };
        text += &network;
        for _ in 0..self.from(1, 3) {
            text += &format!("[[flows]]\n{}{}", self.flow(), self.pick(&ends));
        }
        if self.chance(0.45) && !directions.is_empty() {
            text += &self.changes(&directions);
        }
        text + &self.probes()
    }

    /// A link, or several in a row: the scenario, the flows' keys for their places, and the directions that can change.
    fn row(&mut self) -> (String, Vec<String>, Vec<String>) {
        let mut text = format!("[link]\n{}", self.link());
        if self.chance(0.4) {
            text += &format!("[reverse]\n{}", self.link());
        }
        let mut directions = vec!["link".to_string(), "reverse".to_string()];
        let mut ends = vec![String::new(), "direction = \"reverse\"\n".to_string()];
        if self.chance(0.2) {
            text += &format!("[[links]]\nname = \"second\"\n{}", self.link());
            directions.push("links.second".into());
            directions.push("links.second.reverse".into());
            ends.push("route = [\"link\", \"second\"]\n".into());
            ends.push("route = [\"second\"]\ndirection = \"reverse\"\n".into());
        }
        (text, ends, directions)
    }

    /// Hosts and routers in a ring or a line, sometimes with an access point.
    fn graph(&mut self) -> (String, Vec<String>, Vec<String>) {
        let count = self.from(2, 4);
        let mut text = String::new();
        for node in 0..count {
            let kind = if self.chance(0.4) { "kind = \"host\"\n" } else { "" };
            text += &format!("[[nodes]]\nname = \"n{node}\"\n{kind}");
        }
        let has_cell = self.chance(0.3);
        if has_cell {
            text +=
                "[[nodes]]\nname = \"ap\"\nkind = \"access-point\"\n[[nodes]]\nname = \"all\"\nkind = \"stations\"\n";
        }
        let mut directions = Vec::new();
        let last = if self.chance(0.3) { count } else { count - 1 };
        for from in 0..last {
            let to = (from + 1) % count;
            text += &format!("[[links]]\nname = \"l{from}\"\nfrom = \"n{from}\"\nto = \"n{to}\"\n{}", self.link());
            directions.push(format!("links.l{from}"));
            directions.push(format!("links.l{from}.reverse"));
        }
        let mut nodes: Vec<String> = (0..count).map(|node| format!("n{node}")).collect();
        if has_cell {
            text += &format!("[[links]]\nname = \"wire\"\nfrom = \"n0\"\nto = \"ap\"\n{}", self.link());
            text += &format!("[[links]]\nname = \"air\"\nfrom = \"ap\"\nto = \"all\"\n{}[links.wlan]\n", self.queue());
            text += &self.channel("links.");
            nodes.push("all".into());
        }
        let mut ends = Vec::new();
        for _ in 0..4 {
            let (from, to) = (self.pick(&nodes), self.pick(&nodes));
            ends.extend((from != to).then(|| format!("from = \"{from}\"\nto = \"{to}\"\n")));
        }
        ends.push("from = \"n0\"\nto = \"n1\"\n".into());
        (text, ends, directions)
    }

    /// A wireless LAN.
    fn cell(&mut self) -> (String, Vec<String>, Vec<String>) {
        let channel = self.channel("");
        let (down, up) = (self.queue(), self.queue());
        let text = format!("[wlan]\n{channel}[link]\n{down}[reverse]\n{up}");
        (text, vec![String::new(), "direction = \"reverse\"\n".into()], Vec::new())
    }

    /// Keys of the channel, and groups of stations.
    fn channel(&mut self, header: &str) -> String {
        let mut text = String::new();
        for key in [
            "queues = \"airtime\"\n",
            "tsq = 7\n",
            "ap_cwmin = 3\n",
            "beacon = \"0 B\"\n",
            "htb_rate = \"9.7 Mbit/s\"\n",
        ] {
            if self.chance(0.15) {
                text += key;
            }
        }
        for _ in 0..self.from(1, 2) {
            let rate = self.one_of(&["6 Mbit/s", "54 Mbit/s", "1 Mbit/s", "mcs3", "mcs15", "minstrel"]);
            let signal =
                if rate == "minstrel" || self.chance(0.2) { "snr = \"17.3 dB\"\nfading = \"3 dB\"\n" } else { "" };
            text += &format!("[[{header}wlan.stations]]\ncount = {}\nrate = \"{rate}\"\n{signal}", self.from(1, 4));
        }
        text
    }

    fn link(&mut self) -> String {
        let bps = self.bps();
        let service = match self.from(0, 9) {
            0..4 => format!("rate = \"{bps} bit/s\""),
            4..6 => {
                let mut steps = vec![format!("{bps} bit/s@0s")];
                let mut at = 0;
                for _ in 0..self.from(1, 3) {
                    at += self.instant();
                    let next = if self.chance(0.2) { 0 } else { self.bps() };
                    steps.push(format!("{next} bit/s@{at} ns"));
                }
                steps.push(format!("3 Mbit/s@{} ns", at + 1 + self.instant()));
                let change = self.one_of(&["fluid", "latch", "opportunity"]);
                format!("rate = \"{}\"\nchange = \"{change}\"", steps.join(","))
            }
            6 => format!(
                "bucket = \"{bps} bit/s\"\nburst = \"{} B\"\npeak = \"{} bit/s\"",
                self.from(3_000, 90_000),
                2 * bps
            ),
            7 => format!("poisson = \"{bps} bit/s\""),
            8 => format!("cox = \"{bps} bit/s\""),
            _ => format!("trace = \"TRACE\"\nonce = {}", self.chance(0.3)),
        };
        let mut text = format!("{service}\n{}", self.queue());
        let delay = self.span();
        let steps = format!(
            "\"{delay} ns@0s,{} ns@{} ns,0 s@{} ns\"",
            self.span(),
            self.instant() / 2 + 1,
            self.duration_ns / 2 + 2 + self.instant() / 2
        );
        match self.from(0, 3) {
            0 => {}
            1 => text += &format!("delay = {steps}\nreorder = {}\n", self.chance(0.7)),
            _ => text += &format!("delay = \"{delay} ns\"\n"),
        }
        for (key, chance) in [
            ("loss = 0.07\n", 0.1),
            ("loss = { p = 0.01, r = 0.3, step = \"1 ms\" }\n", 0.05),
            ("below = \"3028 B\"\n", 0.08),
            ("below = \"6 packets bql\"\n", 0.05),
            ("gro = \"311 us\"\n", 0.07),
            ("framing = \"atm\"\n", 0.07),
            ("framing = \"docsis\"\naccount = \"ip\"\n", 0.05),
        ] {
            let name = key.split(' ').next().expect("a key");
            if self.chance(chance) && !text.contains(&format!("\n{name} ")) {
                text += key;
            }
        }
        text
    }

    /// A queue manager and its limit.
    fn queue(&mut self) -> String {
        let limit = self.limit();
        format!("aqm = \"{}\"\nlimit = {limit}\n", self.aqm(0))
    }

    fn limit(&mut self) -> String {
        match self.from(0, 3) {
            0 => format!("\"{} B\"", self.from(1_600, 90_000)),
            1 => format!("[\"{} us\", \"{} packets\"]", self.from(500, 200_000), self.from(1, 300)),
            _ => format!("\"{} packets\"", self.from(1, 400)),
        }
    }

    fn aqm(&mut self, depth: u32) -> String {
        let inside =
            |draw: &mut Self| if draw.chance(0.75) { format!(" {{ {} }}", draw.aqm(depth + 1)) } else { String::new() };
        match self.from(0, if depth < 3 { 9 } else { 4 }) {
            0..4 => {
                let all: Vec<String> = ALGORITHMS.iter().flat_map(|algorithm| algorithm.spellings()).collect();
                let name = self.pick(&all);
                let ecn = if self.chance(0.3) { format!("{name} ecn") } else { name.clone() };
                if sojourn_aqm::registry::parse(&ecn).is_ok() { ecn } else { name }
            }
            4 => format!("fq({})", self.one_of(&["pie ecn", "codel target 700us", "red", "droptail"])),
            5 => format!("tbf rate {}bit burst {}B latency 70ms{}", self.bps(), self.from(1_600, 9_000), inside(self)),
            6 => format!("prio {{ band 1 match dscp EF; band 2{}; band 3{} }}", inside(self), inside(self)),
            7 => {
                let (rate, ceil) = (self.bps(), self.bps());
                let leaf = |draw: &mut Self, name: u32| {
                    format!("class {name} parent 1 rate {}bit ceil {}bit{}", rate / 3, rate.max(ceil), inside(draw))
                };
                format!(
                    "htb default 2 {{ class 1 rate {rate}bit ceil {}bit; {}; {} match dscp EF }}",
                    rate.max(ceil),
                    leaf(self, 2),
                    leaf(self, 3).replacen(" parent", " prio 2 parent", 1)
                )
                .replace(" match dscp EF }", " }")
            }
            _ => format!("netem{}{}", self.netem(), inside(self)),
        }
    }

    fn netem(&mut self) -> String {
        let mut text = String::new();
        let (delay, jitter, rate) = (self.span(), self.span(), self.bps());
        if self.chance(0.8) {
            text += &format!(" delay {delay}ns");
            if self.chance(0.6) {
                text += &format!(" {}ns", jitter.min(900_000_000));
            }
            if self.chance(0.4) {
                text += " reorder 25% 50%";
            }
        }
        for (words, chance) in [
            (" loss 7%", 0.2),
            (" duplicate 13%", 0.2),
            (" corrupt 5%", 0.15),
            (" loss gemodel 3% 40%", 0.05),
            (" slot 3ms 9ms packets 3", 0.1),
        ] {
            if self.chance(chance) && !(words.contains("loss") && text.contains("loss")) {
                text += words;
            }
        }
        if self.chance(0.15) {
            text += &format!(" rate {rate}bit");
        }
        text
    }

    fn flow(&mut self) -> String {
        let kind = match self.from(0, 13) {
            0..4 => {
                let stack = self.one_of(&["linux-2.6.29", "linux-3.13", "linux-6.1", "ns2"]);
                let cc = self.one_of(&["reno", "newreno", "cubic"]);
                let more = self.one_of(&[
                    "",
                    "",
                    "ecn = true\n",
                    "gso = true\n",
                    "size = \"70 kB\"\n",
                    "size = \"5 kB\"\npause = \"9 ms\"\n",
                ]);
                let more = if stack == "ns2" && more.starts_with("gso") { "" } else { more };
                format!("kind = \"tcp\"\nstack = \"{stack}\"\ncc = \"{cc}\"\n{more}")
            }
            4 => format!("kind = \"tcp\"\ncc = \"{}\"\n", self.one_of(&["bbr", "bbr3", "dctcp", "prague", "cubic"])),
            5 => format!("kind = \"cbr\"\nrate = \"{} bit/s\"\nsize = \"{} B\"\n", self.bps(), self.from(28, 1500)),
            6 => format!("kind = \"poisson\"\nrate = \"{} bit/s\"\necn = \"ect0\"\n", self.bps()),
            7 => format!("kind = \"streaming\"\nrate = \"{} bit/s\"\nsize = \"840 B\"\n", self.bps()),
            8 => "kind = \"voice\"\noff = \"37 ms\"\non = \"61 ms\"\n".into(),
            9 => "kind = \"media\"\ncontrol = \"nada\"\nmax_rate = \"9 Mbit/s\"\nstart_rate = \"2 Mbit/s\"\n".into(),
            10 => "kind = \"web\"\ninterval = \"23 ms\"\nsize = \"12 kB\"\n".into(),
            11 => self
                .one_of(&[
                    "kind = \"request\"\nsize = \"3 kB\"\n",
                    "kind = \"browser\"\nobjects = 5\nsize = \"3 kB\"\ndocument = \"2 kB\"\n",
                ])
                .into(),
            12 => "kind = \"packmime\"\nconnections_per_second = 50\n".into(),
            _ => "kind = \"video\"\nladder = [\"1 Mbit/s\", \"9 Mbit/s\"]\nsegment = \"50 ms\"\nbuffer = \"100 ms\"\n"
                .into(),
        };
        let mut text = kind + &format!("count = {}\n", self.one_of(&[1, 1, 2, 3, 9]));
        let (start, spread, access) = (self.instant(), self.span(), self.span());
        if self.chance(0.25) {
            text += &format!("start = \"{start} ns\"\n");
        }
        if self.chance(0.4) {
            text += &format!("spread = \"{spread} ns\"\n");
        }
        if self.chance(0.5) {
            text += &format!("access_delay = \"{access} ns\"\n");
        }
        for (key, chance) in [
            ("dscp = \"EF\"\n", 0.2),
            ("class = \"1:3\"\n", 0.1),
            ("middlebox = \"tunnel\"\n", 0.1),
            ("middlebox = \"ect1\"\n", 0.05),
            ("access_rate = \"33 Mbit/s\"\n", 0.1),
        ] {
            let name = key.split(' ').next().expect("a key");
            if self.chance(chance) && !text.contains(&format!("\n{name} ")) {
                text += key;
            }
        }
        text
    }

    fn changes(&mut self, directions: &[String]) -> String {
        let (mut text, mut at) = (String::new(), 0);
        for _ in 0..self.from(1, 4) {
            at += self.instant() / 3 + 1;
            let direction = self.pick(directions);
            let value = match self.from(0, 6) {
                0..3 => format!("aqm = \"{}\"", self.aqm(0)),
                3 => format!("limit = {}", self.limit()),
                4 => format!("delay = \"{} ns\"", self.span()),
                5 => "loss = 0.3".to_string(),
                _ => format!("rate = \"{} bit/s\"", self.bps()),
            };
            text += &format!("[[changes]]\nat = \"{at} ns\"\n{direction}.{value}\n");
        }
        text
    }

    fn probes(&mut self) -> String {
        let step = self.instant() / 3 + 1_000;
        let mut text = "[probes]\npackets = true\n".to_string();
        for key in ["queue", "flows", "state", "utilisation"] {
            if self.chance(0.4) {
                text += &format!("{key} = \"{step} ns\"\n");
            }
        }
        for key in ["drops", "headers", "senders", "transfers", "media"] {
            if self.chance(0.2) {
                text += &format!("{key} = true\n");
            }
        }
        text
    }

    /// An instant within the run, in nanoseconds.
    fn instant(&mut self) -> u64 {
        self.from(1, self.duration_ns.max(2) - 1)
    }

    /// A duration of zero, of microseconds, or of up to a third of a second.
    fn span(&mut self) -> u64 {
        let most = self.one_of(&[0, 900, 77_777, 9_999_999, 333_333_333]);
        self.from(0, most)
    }

    /// From a modem to a fast line, so that no run exceeds some ten thousand packets.
    fn bps(&mut self) -> u64 {
        let most = self.one_of(&[90_000, 1_000_000, 20_000_000, 99_999_999]);
        self.from(30_000, most)
    }

    fn chance(&mut self, p: f64) -> bool {
        self.rng.uniform() < p
    }

    /// A whole number from `least` to `most`.
    fn from(&mut self, least: u64, most: u64) -> u64 {
        least + self.rng.next_u64() % (most - least + 1)
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.from(0, all.len() as u64 - 1) as usize]
    }

    fn pick(&mut self, all: &[String]) -> String {
        all[self.from(0, all.len() as u64 - 1) as usize].clone()
    }
}
