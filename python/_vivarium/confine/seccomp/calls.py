"""Names the system calls that a session may make, and those that are refused with EPERM."""

# What CPython, libc, shells and numeric libraries use: files, memory, threads, processes, sockets, clocks, events.
# Calls whose arguments decide are not here: they have rules in `filter.py`.
ALLOWED: tuple[str, ...] = tuple(
    """
    read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction rt_sigprocmask
    rt_sigreturn pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore madvise dup
    dup2 pause nanosleep getitimer alarm setitimer getpid sendfile connect accept sendto recvfrom sendmsg
    recvmsg shutdown bind listen getsockname getpeername setsockopt getsockopt fork vfork execve exit wait4 kill
    uname fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat
    link unlink symlink readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit getrusage sysinfo
    times getuid getgid geteuid getegid setpgid getppid getpgrp setsid getgroups getresuid getresgid getpgid
    getsid rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod statfs fstatfs
    getpriority sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
    sched_rr_get_interval mlock munlock arch_prctl setrlimit gettid readahead getxattr lgetxattr fgetxattr
    listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr tkill
    time futex sched_getaffinity epoll_create getdents64 set_tid_address restart_syscall
    fadvise64 timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_gettime clock_getres
    clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes waitid inotify_init inotify_add_watch
    inotify_rm_watch get_mempolicy openat mkdirat mknodat fchownat futimesat newfstatat unlinkat renameat linkat
    symlinkat readlinkat fchmodat faccessat pselect6 ppoll set_robust_list get_robust_list sync_file_range
    utimensat epoll_pwait signalfd timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4
    signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo recvmmsg
    sendmmsg getcpu sched_getattr renameat2 getrandom membarrier mlock2 copy_file_range preadv2
    pwritev2 statx rseq pidfd_send_signal pidfd_open close_range openat2 faccessat2 epoll_pwait2 futex_waitv
    fchmodat2 cachestat futex_wake futex_wait futex_requeue
    """.split()
)

# What changes files without any right of Landlock, by path or by a descriptor that may only read. Where sessions have
# no user of their own, this would reach every file of the user who runs the host.
#
# Modes and given times: these do nothing and say that they have worked, as on a file system without modes (`quiet` of
# vfat). A refusal would be more honest, but shutil.copy, copy2, copytree and dbm.dumb fail on one, whatever its number.
# The present time is another matter: Path.touch() asks for it to find out whether there is such a file, and makes one
# if that fails.
PRETENDED: tuple[str, ...] = ("chmod", "fchmod", "fchmodat", "fchmodat2")
# The places of the path and of the times among the arguments. Without a path, the first argument is a descriptor.
TIMES: dict[str, tuple[int, int]] = {"utime": (0, 1), "utimes": (0, 1), "futimesat": (1, 2), "utimensat": (1, 2)}
# As the kernel refuses them to ordinary users: programs expect that.
OWNERS: tuple[str, ...] = ("chown", "fchown", "lchown", "fchownat")
# As a file system without extended attributes: programs expect that as well.
ATTRIBUTES: tuple[str, ...] = tuple("setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr".split())

# EPERM rather than ENOSYS: programs then report "permission denied", which is true.
REFUSED: tuple[str, ...] = tuple(
    """
    ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise mount umount2 pivot_root chroot
    unshare setns open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr statmount
    listmount swapon swapoff reboot sethostname setdomainname init_module finit_module delete_module kexec_load
    kexec_file_load bpf perf_event_open userfaultfd keyctl add_key request_key io_uring_setup io_uring_enter
    io_uring_register open_by_handle_at name_to_handle_at fanotify_init fanotify_mark quotactl quotactl_fd acct
    settimeofday clock_settime clock_adjtime adjtimex syslog iopl ioperm modify_ldt lookup_dcookie nfsservctl
    vhangup personality setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset
    seccomp shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open
    mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr move_pages migrate_pages mbind set_mempolicy
    set_mempolicy_home_node ioprio_set sched_setscheduler sched_setparam sched_setattr splice tee vmsplice
    memfd_secret execveat sync syncfs mlockall munlockall landlock_create_ruleset landlock_add_rule
    landlock_restrict_self lsm_set_self_attr
    """.split()
)
