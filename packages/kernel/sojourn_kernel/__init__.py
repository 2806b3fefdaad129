# SPDX-License-Identifier: GPL-2.0
"""Files that become part of a Linux kernel; Sojourn reads them from this folder."""
