# Recipe for OpenWrt's build system, not tried: the folder above this one as package/kernel/sojourn/src, this file as
# package/kernel/sojourn/Makefile.
include $(TOPDIR)/rules.mk
include $(INCLUDE_DIR)/kernel.mk

PKG_NAME:=sojourn
PKG_VERSION:=@VERSION@
PKG_RELEASE:=1
PKG_LICENSE:=GPL-2.0-only

include $(INCLUDE_DIR)/package.mk

define KernelPackage/sojourn
  SUBMENU:=Network Support
  TITLE:=Queue discipline sojourn: @LINE@
  FILES:=$(PKG_BUILD_DIR)/sojourn.ko
  DEPENDS:=+kmod-sched-core
endef

define Build/Compile
	$(KERNEL_MAKE) M="$(PKG_BUILD_DIR)" modules
endef

$(eval $(call KernelPackage,sojourn))
