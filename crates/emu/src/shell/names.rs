//! Name resolution inside a shell: texts of the files that replace the machine's.

use super::address::AddressBlock;
use std::net::IpAddr;

/// Name servers of this machine.
pub struct NameServers {
    /// Text of `/etc/resolv.conf`.
    text: String,
    /// The first one, if it has a loopback address, which is unreachable from inside.
    pub loopback: Option<IpAddr>,
}

impl NameServers {
    /// Reads the file of this machine.
    pub fn read() -> Self {
        let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let server = |line: &str| line.trim().strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok();
        let loopback = text.lines().find_map(server).filter(IpAddr::is_loopback);
        Self { text, loopback }
    }

    /// `/etc/resolv.conf` with a name server that is reachable from inside: in a closed shell only the outer end can
    /// answer. `None` if the machine's own is reachable.
    pub fn replaced(&self, block: AddressBlock, closed: bool) -> Option<String> {
        let server = match (closed, self.loopback) {
            (true, _) => block.host().0,
            (false, Some(_)) => block.name_server(),
            (false, None) => return None,
        };
        let others = self.text.lines().filter(|line| !line.trim().starts_with("nameserver"));
        let server = format!("nameserver {server}");
        Some(others.map(str::to_string).chain([server, String::new()]).collect::<Vec<_>>().join("\n"))
    }
}

/// Text of `/etc/hosts` that gives `names` the addresses of `block`'s host, and no others: a resolver may return the
/// addresses of every line with a name.
pub fn hosts(own: &str, names: &[String], block: AddressBlock) -> String {
    let (v4, v6) = block.host();
    let list = names.join(" ");
    let mut text = format!("{v4} {list}\n{v6} {list}\n");
    for line in own.lines() {
        let entry = line.split('#').next().unwrap_or_default();
        let is_named = |word: &&str| names.iter().any(|name| name.eq_ignore_ascii_case(word.trim_end_matches('.')));
        let words: Vec<&str> = entry.split_whitespace().collect();
        let kept: Vec<&str> = words.iter().copied().filter(|word| !is_named(word)).collect();
        match (kept.len() == words.len(), kept.len()) {
            (true, _) => text += line,
            // Without its names, only the address is left.
            (false, 0 | 1) => continue,
            (false, _) => text += &kept.join(" "),
        }
        text.push('\n');
    }
    text
}

/// Text of `/etc/nsswitch.conf` for host names from `/etc/hosts` first, and then from the name server alone: another
/// source, such as systemd-resolved, would answer from outside.
pub fn name_switch(own: &str) -> String {
    let is_of_hosts = |line: &&str| line.trim_start().starts_with("hosts:");
    let others = own.lines().filter(|line| !is_of_hosts(line)).map(str::to_string);
    others.chain(["hosts: files dns".to_string(), String::new()]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: AddressBlock = AddressBlock { tree: 7, n: 3 };

    #[test]
    fn a_name_has_no_address_beside_the_host() {
        let own =
            "127.0.0.1 localhost\n10.0.0.1 www.test # of the lab\n10.0.0.2 other.test WWW.TEST img.test.\n\n# end";
        let names = ["www.test", "img.test"].map(str::to_string);
        let expected = "100.64.7.1 www.test img.test\nfd53:6f6a:6f75:7::1 www.test img.test\n127.0.0.1 localhost\n\
                        10.0.0.2 other.test\n\n# end\n";
        assert_eq!(hosts(own, &names, BLOCK), expected);
    }

    #[test]
    fn only_files_and_the_name_server_resolve_hosts() {
        let own = "passwd: files\nhosts: mymachines resolve [!UNAVAIL=return] files\nnetworks: files";
        assert_eq!(name_switch(own), "passwd: files\nnetworks: files\nhosts: files dns\n");
    }

    #[test]
    fn a_closed_shell_asks_the_outer_end() {
        let text = "search lab\nnameserver 10.0.0.53\nnameserver 10.0.0.54".to_string();
        let servers = NameServers { text, loopback: None };
        assert_eq!(servers.replaced(BLOCK, false), None);
        assert_eq!(servers.replaced(BLOCK, true).as_deref(), Some("search lab\nnameserver 100.64.7.1\n"));
        let local = NameServers { text: "nameserver ::1".to_string(), loopback: "::1".parse().ok() };
        assert_eq!(local.replaced(BLOCK, false).as_deref(), Some("nameserver 100.64.7.252\n"));
    }
}
