/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SFRAME_COMMAND_H
#define _SFRAME_COMMAND_H

/*
 * The commands.  Each takes its name and arguments, reports what is wrong, and
 * returns the exit status.
 */
int gen_main(int argc, char **argv);
int dump_main(int argc, char **argv);
int check_main(int argc, char **argv);
int cache_main(int argc, char **argv);
int index_main(int argc, char **argv);
int doctor_main(int argc, char **argv);

#endif /* _SFRAME_COMMAND_H */
