/* SPDX-License-Identifier: GPL-2.0-only */
/* Variables of each CPU for a file of the module that a host test includes: there is one CPU. */
#ifndef SELFTESTS_HOST_KERNEL_PERCPU_H
#define SELFTESTS_HOST_KERNEL_PERCPU_H

#define DEFINE_PER_CPU(type, name)	__typeof__(type) name
#define this_cpu_ptr(pointer)		(pointer)
#define this_cpu_write(name, value)	((name) = (value))
#define per_cpu(name, cpu)		(*((void)(cpu), &(name)))

#endif
