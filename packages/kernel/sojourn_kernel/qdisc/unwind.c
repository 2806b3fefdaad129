// SPDX-License-Identifier: GPL-2.0
/*
 * Names that Rust's precompiled core refers to. A panic calls sojourn_qdisc_panic instead and nothing unwinds.
 *
 * This file is compiled into a kernel and is not part of Sojourn's programs; see LICENSE in this package.
 */
#include <linux/bug.h>

void rust_eh_personality(void);
void rust_eh_personality(void)
{
	BUG();
}

#ifndef CONFIG_UML	/* there libgcc has it */
void _Unwind_Resume(void *exception);
void _Unwind_Resume(void *exception)
{
	BUG();
}
#endif
