"""Starting the ranks of a job on this machine: on loopback, or in the hosts of a lab.

`job.Job` is the whole interface. Behind it stand three kinds of process: the *zygote* has imported torch once, each
job's *head* is forked from it and is the parent of that job's *ranks*, which are forked from the head.
"""
