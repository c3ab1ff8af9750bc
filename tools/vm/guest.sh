# Runs job.sh (who, project, data, command) as one of several kinds of users, and tells its status on the second line.
. /vm/job.sh
export PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root
stty -F /dev/ttyS0 -onlcr
ln -s busybox /vm/modprobe
echo /vm/modprobe > /proc/sys/kernel/modprobe
mkdir -p /dev/pts /dev/shm /dev/mqueue
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t mqueue mqueue /dev/mqueue
mount -t tmpfs run /run
ln -sf /proc/self/fd /dev/fd
groups=/sys/fs/cgroup
mount -t cgroup2 -o nsdelegate cgroup2 $groups
/vm/busybox ip link set lo up

# A real file system for everything that is written; the project and its data stay visible where they are.
mkdir -p /vm/tmp /vm/vartmp /vm/sessions /vm/project /vm/data "$data/sessions"
chmod 1777 /vm/tmp /vm/vartmp
mount --bind "$project" /vm/project
mount --bind "$data" /vm/data
mount --bind /vm/tmp /tmp
mount --bind /vm/vartmp /var/tmp
mkdir -p "$project" "$data"
mount --bind /vm/project "$project"
mount --bind /vm/data "$data"
chmod 711 /vm/sessions
mount --bind /vm/sessions "$data/sessions"

echo "+memory +pids +cpu" > $groups/cgroup.subtree_control
mkdir $groups/service
case $who in
root) ;;
service) echo $$ > $groups/service/cgroup.procs ;;
delegated | user)
  [ "$who" = user ] || (cd $groups/service && chown 65534:65534 . cgroup.procs cgroup.subtree_control cgroup.threads)
  echo $$ > $groups/service/cgroup.procs
  place=$data
  while [ "$place" != / ]; do chmod a+rx "$place"; place=$(dirname "$place"); done
  chown 65534:65534 "$project" "$project/node_modules" "$project"/node_modules/.[a-z]* "$data" "$data"/*
  HOME=$data
  as_user="setpriv --reuid 65534 --regid 65534 --clear-groups --"
  ;;
esac
cd "$project" || exit
export VIVARIUM_HOME="$data"
{
  $as_user sh -c "$command" < /dev/null
  echo $? > /dev/ttyS1
} 2>&1 | cat
left=$(find $groups -name 'vivarium-*' ! -name vivarium-main)
[ -z "$left" ] || echo "CONTROL GROUPS LEFT BEHIND: $left"
sync
/vm/busybox poweroff -f
