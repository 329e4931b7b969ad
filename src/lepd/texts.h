/* SPDX-License-Identifier: Apache-2.0 */
/* The results of methods, in the layouts of the commands that LEPD ran. Each function
 * returns false if the machine does not have the data. */
#ifndef STOKE_LEPD_TEXTS_H
#define STOKE_LEPD_TEXTS_H

#include "lepd/method.h"

void lepd_say_hello(struct output *o);
void lepd_list_methods(struct output *o);

/* "Linux 6.1.0 (host) 	11/23/26 	_x86_64_	(2 CPU)": the first line of the commands of
 * sysstat. */
void lepd_write_sysstat_line(const struct lepd_machine *m, struct output *o);

/* Seconds between the readings, or since boot. */
double lepd_interval(const struct lepd_machine *m);

/* cpu_text.c */
bool lepd_write_cpu_info(const struct lepd_machine *m, struct output *o);
bool lepd_write_mpstat(const struct lepd_machine *m, struct output *o);
bool lepd_write_mpstat_interrupts(const struct lepd_machine *m, struct output *o);
bool lepd_write_irq_info(const struct lepd_machine *m, struct output *o);

/* disk_text.c */
bool lepd_write_iostat(const struct lepd_machine *m, struct output *o);
bool lepd_write_df(const struct lepd_machine *m, struct output *o);

/* system_text.c */
bool lepd_write_free(const struct lepd_machine *m, struct output *o);
bool lepd_write_dmesg(const struct lepd_machine *m, struct output *o);

/* process_text.c */
bool lepd_write_top(const struct lepd_machine *m, struct output *o);
bool lepd_write_iotop(const struct lepd_machine *m, struct output *o);
bool lepd_write_procrank(const struct lepd_machine *m, struct output *o);

/* cgroup_text.c */
bool lepd_write_cgtop(const struct lepd_machine *m, struct output *o);

/* perf_text.c */
bool lepd_write_flame(const struct lepd_machine *m, struct output *o);
bool lepd_write_cpu_clock(const struct lepd_machine *m, struct output *o);
bool lepd_write_faults(const struct lepd_machine *m, struct output *o);

#endif
