# One image for the web service and the workers, and small ones for the Redis and the PostgreSQL beside them: all on
# Debian's packages, so that rebuilding is all there is to keeping them patched. docker-compose.yml builds and runs them.
#
#   VARIANT=cpu    Triton's interpreter and the compile check; no GPU (default)
#   VARIANT=cuda   torch with its CUDA libraries, and the compiler that Triton's first launch needs
#   TORCH_INDEX    the address of PyTorch's index of CPU builds; without it pip takes what its own settings find, which by
#                  default is torch with CUDA: as right, and gigabytes larger

FROM debian:bookworm-slim AS system
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 libseccomp2 \
    && rm -rf /var/lib/apt/lists/*


FROM system AS packages
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3-pip python3-venv \
    && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv --without-pip /opt/warpgrade
ENV PIP_PYTHON=/opt/warpgrade/bin/python PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY requirements.in requirements.run.lock ./
RUN pip install --no-deps --require-hashes -r requirements.run.lock
ARG VARIANT=cpu
ARG TORCH_INDEX=
RUN torch=$(sed -n 's/^torch==//p' requirements.in) \
    && case $VARIANT in \
        cpu) pip install ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} "torch==$torch${TORCH_INDEX:++cpu}" ;; \
        cuda) pip install "torch===$torch" ;; \
        *) echo "VARIANT is cpu or cuda, not '$VARIANT'" >&2; exit 1 ;; \
    esac \
    && cd /opt/warpgrade/lib/python3*/site-packages/torch \
    && find bin -type f ! -name torch_shm_manager -delete \
    && rm -rf include test


# Apart from the packages, so that a new version of ours is a small layer.
FROM packages AS ours
COPY pyproject.toml README.md ./
COPY app app
COPY worker worker
COPY graders graders
COPY reference reference
RUN pip install --no-deps --no-build-isolation --prefix /opt/ours .


FROM system AS warpgrade
ARG VARIANT=cpu
RUN apt-get update \
    && if [ "$VARIANT" = cuda ]; then compiler="gcc libc6-dev python3-dev"; fi \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bubblewrap $compiler \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 warpgrade \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent warpgrade \
    && install -d -o warpgrade -g warpgrade -m 0700 /var/lib/warpgrade
COPY --from=packages /opt/warpgrade /opt/warpgrade
COPY --from=ours /opt/ours /opt/warpgrade
COPY containers/as-worker.sh /usr/local/bin/as-worker
RUN chmod 0755 /usr/local/bin/as-worker
ENV PATH=/opt/warpgrade/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
    LANG=C.UTF-8 \
    PYTHONUNBUFFERED=1 \
    WARPGRADE_MODE=server \
    WARPGRADE_HOST=0.0.0.0 \
    WARPGRADE_DATA=/var/lib/warpgrade
WORKDIR /var/lib/warpgrade
USER warpgrade
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s CMD ["python", "-m", "app.probe", "web"]
CMD ["warpgrade", "serve"]


FROM debian:bookworm-slim AS redis
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends redis-server \
    && rm -rf /var/lib/apt/lists/*
COPY containers/redis.sh /usr/local/bin/serve-redis
RUN chmod 0755 /usr/local/bin/serve-redis
USER redis
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["serve-redis", "check"]
CMD ["serve-redis"]


FROM debian:bookworm-slim AS postgres
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql-common \
    && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql-15 \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o postgres -g postgres -m 0700 /var/lib/postgresql/data \
    && chmod 1777 /run/postgresql # the mode of the tmpfs that is mounted there
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8
COPY containers/postgres.sh /usr/local/bin/serve-postgres
RUN chmod 0755 /usr/local/bin/serve-postgres
USER postgres
# A fast end: the default one waits for every client to leave.
STOPSIGNAL SIGINT
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["pg_isready", "-q", "-h", "127.0.0.1", "-U", "warpgrade"]
CMD ["serve-postgres"]
