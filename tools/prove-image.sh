#!/usr/bin/env bash
# Builds the image of Dockerfile, runs it as compose.yaml does, then runs contrib/vivarium.service in it under systemd.
# Needs root, buildah, podman, runc, catatonit and curl. Where no registry can be reached, the base image is made from Debian's
# packages (debootstrap) and the Node and npm of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=$(for tool in buildah podman runc catatonit curl debootstrap; do
  [ -x "$(command -v $tool || echo /usr/libexec/podman/$tool)" ] || echo -n " $tool"
done)
if [ "$(id -u)" != 0 ] || [ -n "$missing" ]; then
  echo "NOT PROVED: the image was not built; that needs root and the programs${missing:- that are here}" >&2
  [ "${CI:-}" != true ]
  exit
fi

work=$(mktemp -d)
run_id="vivarium-proof-$$"
limits=(--ulimit nofile=4096:4096 --ulimit nproc=2000:2000)
pod() { podman --cgroup-manager=cgroupfs "$@" 2> >(grep -v 'sandbox cgroup' >&2); }
clean_up() {
  pod rm --force --time 0 --volumes "$run_id" "$run_id-systemd" > /dev/null 2>&1 || true
  pod volume rm --force "$run_id" > /dev/null 2>&1 || true
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT

say() { echo "== $*"; }
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# Waits for the server, then checks that a session has its walls and libraries. The arguments go to curl.
check_session() {
  curl --silent --fail --retry 60 --retry-delay 1 --retry-all-errors "http://127.0.0.1:$port/health" > /dev/null
  answer=$(curl --silent --show-error "$@" "http://127.0.0.1:$port/v1/runs" -H 'content-type: application/json' \
    -d '{"code": "import numpy\nprint(numpy.arange(4).sum())"}')
  for part in '"stdout":"6\n"' '"level":"namespaces"' '"files":"private-root"' '"proc":"private"' '"seccomp":true'; do
    [[ $answer == *"$part"* ]] || fail "no $part in $answer"
  done
}

base=docker.io/library/node:24-bookworm-slim
if ! buildah pull --policy always --quiet "$base" > /dev/null 2>&1; then
  base=localhost/vivarium-base
fi
if [ $base = localhost/vivarium-base ] && ! podman image exists $base; then
  say "no registry: a base image from Debian's packages"
  debootstrap --variant=minbase bookworm "$work/root" > "$work/debootstrap.log" || fail "$(tail "$work/debootstrap.log")"
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  mkdir -p "$work/root/usr/local/lib/node_modules"
  cp "$(readlink -f "$(command -v node)")" "$work/root/usr/local/bin/node"
  cp -r "$npm" "$work/root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$work/root/usr/local/bin/npm"
  # What this machine trusts, the build trusts as well: its packages may come from a mirror.
  certificates=/etc/ssl/certs/of-the-machine.crt
  install -D --mode 644 /etc/ssl/certs/ca-certificates.crt "$work/root$certificates"
  tar -C "$work/root" -cf - . | podman import --quiet \
    --change "ENV NODE_EXTRA_CA_CERTS=$certificates" --change "ENV PIP_CERT=$certificates" - "$base" > /dev/null
fi

build() { buildah bud --quiet --isolation=chroot --network=host --pull-never "$@" > "$work/build.log" 2>&1 ||
  fail "$(tail -20 "$work/build.log")"; }
say 'building the image'
build --build-arg NODE_IMAGE="$base" --build-arg LIBRARIES="${LIBRARIES:-core}" --tag localhost/vivarium .

say 'running it as an ordinary user, on a root that is read-only, without capabilities'
port=$((20000 + $$ % 10000))
as_in_compose=(--runtime runc --network host --volume "$run_id:/data" "${limits[@]}" --read-only --tmpfs /tmp --init
  --tmpfs /home/vivarium --cap-drop all --security-opt no-new-privileges --security-opt seccomp=unconfined --security-opt unmask=ALL)
serve=(localhost/vivarium vivarium serve --host 0.0.0.0 --port "$port")
if pod run --rm "${as_in_compose[@]}" "${serve[@]}" > "$work/refused.log" 2>&1; then fail 'it listens without a key'; fi
grep -q CONFIG_INVALID\\\|keys "$work/refused.log" || fail "$(cat "$work/refused.log")"
key=$(pod run --rm "${as_in_compose[@]}" localhost/vivarium vivarium keys add proof 2> /dev/null)
for start in first second; do
  pod run --detach --name "$run_id" "${as_in_compose[@]}" "${serve[@]}" > /dev/null
  check_session -H "Authorization: Bearer $key"
  [ "$(pod exec "$run_id" id -u)" = 10001 ] || fail 'it is another user'
  pod stop --time 30 "$run_id" > /dev/null
  [ "$(pod inspect --format '{{.State.ExitCode}}' "$run_id")" = 0 ] || fail 'it did not stop by itself'
  pod rm "$run_id" > /dev/null
  say "the $start start: sessions have walls and libraries, and it stopped in good order"
done

say 'as a service of systemd'
mkdir "$work/service"
cp contrib/vivarium.service "$work/service"
cat > "$work/service/Dockerfile" << 'END'
FROM localhost/vivarium
USER root
RUN apt-get update && apt-get install --yes --no-install-recommends systemd
COPY vivarium.service /etc/systemd/system/
ARG PORT
RUN systemd-analyze verify vivarium.service && systemctl enable vivarium.service \
  && printf 'VIVARIUM_PYTHON=%s\nSERVE_FLAGS=--port %s\n' "$VIVARIUM_PYTHON" "$PORT" > /etc/vivarium.env
CMD ["/lib/systemd/systemd"]
END
build --build-arg PORT="$port" --tag localhost/vivarium-systemd "$work/service"
pod run --detach --name "$run_id-systemd" --runtime runc --privileged --systemd always --network host "${limits[@]}" \
  --volume /sys/fs/cgroup:/sys/fs/cgroup localhost/vivarium-systemd > /dev/null
check_session
in_service() { pod exec "$run_id-systemd" "$@"; }
curl --silent "http://127.0.0.1:$port/v1/runs" -H 'content-type: application/json' \
  -d '{"code": "import time\nprint(\"begun\", flush=True)\ntime.sleep(2)\nprint(\"ended\")", "chatId": "drain"}' > "$work/drained" &
until curl --silent "http://127.0.0.1:$port/v1/sessions" | grep -q '"status":"running"'; do sleep 0.1; done
in_service systemctl stop vivarium
wait $!
grep -q 'ended' "$work/drained" || fail "a run was cut off: $(cat "$work/drained")"
[ "$(in_service systemctl show vivarium --property Result --value)" = success ] || fail 'it did not stop in good order'
say 'PROVED: image, container and service'
