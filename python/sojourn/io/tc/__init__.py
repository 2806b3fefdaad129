"""What a router runs, as a scenario: the output of `tc`, its commands, and OpenWrt's `/etc/config/sqm`."""
