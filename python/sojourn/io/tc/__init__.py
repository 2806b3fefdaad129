"""Import of routers' configurations: output of `tc`, commands of `tc`, and OpenWrt's `/etc/config/sqm`."""
