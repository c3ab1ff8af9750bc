# The server, as an ordinary user. docs/deploy.md says how to run it: sessions make namespaces, which Docker refuses by
# default.
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY . .
RUN npm pack --loglevel=error && mv vivarium-*.tgz vivarium.tgz

FROM ${NODE_IMAGE}
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /build/vivarium.tgz /tmp/
RUN npm install --global --loglevel=error /tmp/vivarium.tgz && rm -r /tmp/vivarium.tgz /root/.npm

# Not in the volume, so that a new image brings its own libraries. The server can read them and not change them.
ARG LIBRARIES=full
RUN VIVARIUM_HOME=/tmp/setup vivarium setup --set ${LIBRARIES} \
  && mv /tmp/setup/environments/python-* /opt/python \
  && rm -rf /tmp/setup /root/.cache
ENV VIVARIUM_PYTHON=/opt/python/bin/python VIVARIUM_HOME=/data

RUN useradd --uid 10001 --create-home vivarium && install --directory --owner vivarium --group vivarium --mode 700 /data
USER vivarium
WORKDIR /home/vivarium
VOLUME /data
EXPOSE 8000
# It listens to other machines, so it starts only if there is a key: `vivarium keys add NAME`.
CMD ["vivarium", "serve", "--host", "0.0.0.0"]
