# The client, guarded by opsctl.
#
#   docker build -t opsctl .                                       the whole image
#   docker build -t opsctl --build-arg HOSTS=lab.yaml .            with your own inventory in the image
#   docker build -t guarded --target onto \
#     --build-arg BASE_IMAGE=my/claude-ops --build-arg BASE_USER=node .    adds opsctl to an image that has a client
#   docker build -t trial --build-arg PROFILE=quick .              tries a change of the sources within a minute
#
# docs/how-to-existing-image.md describes the target `onto`.

# The base images. By default, a tag names them; `release/images args PLATFORM` prints the digests of image/images.lock as
# build arguments.
ARG RUST_IMAGE=rust:1.95-slim-bookworm
ARG NODE_IMAGE=node:22-bookworm-slim
ARG DEBIAN_IMAGE=debian:bookworm-slim
# The base image of the target `onto`.
ARG BASE_IMAGE=debian:bookworm-slim


# hadolint ignore=DL3006
FROM ${RUST_IMAGE} AS build
WORKDIR /src
COPY Cargo.toml Cargo.lock build.rs ./
# The manifest without its benchmarks, whose sources are not copied.
RUN sed -i '/^\[\[bench\]\]/,/^$/d' Cargo.toml
COPY templates templates
COPY crates crates
COPY src src
COPY vendor vendor
# `release` is slow to build and fast to run; `quick` is fast to build and slow to run.
ARG PROFILE=release
# The dependencies stay built in the cache; they are built again only when their versions change. The sources are
# touched because the cache may contain a newer build of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    find crates src -type f -exec touch {} + \
    && cargo build --profile "$PROFILE" --locked --quiet \
    && cp "target/$PROFILE/opsctl" /opsctl
# dig depends on ICU, through libxml2, with 31 MB of tables that it never opens. This stand-in has no tables.
COPY image/no-icu-data.c /image/
RUN gcc -shared -Wl,-soname,libicudata.so.72 -o /libicudata.so.72 /image/no-icu-data.c


# hadolint ignore=DL3006
FROM ${NODE_IMAGE} AS client
ARG CLAUDE_CODE_VERSION=2.1.330
ARG TARGETARCH
COPY image/client image/client.lock /image/
RUN case "$TARGETARCH" in \
        amd64) cpu=x64 ;; \
        arm64) cpu=arm64 ;; \
        *) echo "Claude Code has no release for $TARGETARCH" >&2; exit 1 ;; \
    esac \
    && /image/client "$CLAUDE_CODE_VERSION" "$cpu" /client


# Environments of Python programs, complete with their interpreter's folder structure but without pip.
# hadolint ignore=DL3006
FROM ${DEBIAN_IMAGE} AS python
# Debian's mirrors keep only the latest version of a package, so an image with a pinned version could not be built again.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
COPY image/apprise.txt image/ansible-core.txt image/python-environment /image/
RUN /image/python-environment apprise /opt/apprise
ARG ANSIBLE=false
RUN if [ "$ANSIBLE" = true ]; then /image/python-environment ansible-core /opt/ansible-core; \
    else mkdir /opt/ansible-core; fi


# hadolint ignore=DL3006
FROM ${DEBIAN_IMAGE} AS tools
# The layers from the largest, which changes least, to the smallest: an update of opsctl leaves all but the last ones as they are.
COPY --from=client --chmod=0755 /client/claude /usr/local/bin/claude
COPY image/prune /image/
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        bind9-dnsutils ca-certificates curl git netcat-openbsd openssh-client python3 sqlite3 tinyproxy-bin tzdata \
    && /image/prune \
    && rm -rf /var/lib/apt/lists/*
# Optional programs. Each one is installed if its argument is `true`.
ARG DOCKER_CLI=false
ARG GH=false
ARG HELM=false
ARG KUBECTL=false
ARG TARGETARCH
COPY image/tools image/tools.lock /image/
RUN for tool in "docker-cli $DOCKER_CLI" "gh $GH" "helm $HELM" "kubectl $KUBECTL"; do \
        case "$tool" in *" true") /image/tools "${tool% true}" "$TARGETARCH" || exit 1 ;; esac; \
    done \
    && rm -r /image
COPY --from=build /libicudata.so.72 /usr/lib/libicudata.so.72
COPY --from=python /opt /opt
RUN ln -s /opt/apprise/bin/apprise /usr/local/bin/apprise \
    && for program in /opt/ansible-core/bin/ansible*; do \
        [ ! -x "$program" ] || ln -s "$program" /usr/local/bin/; \
    done \
    && useradd --uid 1000 --user-group --create-home --shell /bin/bash agent \
    && useradd --uid 1001 --user-group --create-home --shell /usr/sbin/nologin guard
# The home is not writable below a read-only root.
ENV ANSIBLE_HOME=/tmp/.ansible


# opsctl and its files, on top of an image that has a client. All of it belongs to root: the agent cannot alter it.
# hadolint ignore=DL3006
FROM ${BASE_IMAGE} AS onto
ARG BASE_USER=root
ARG HOSTS=hosts.yaml
ARG PROJECT=/app
USER 0
COPY --from=build --chmod=0755 /opsctl /usr/local/bin/opsctl
COPY --chmod=0644 ${HOSTS} ${PROJECT}/hosts.yaml
RUN opsctl render --hosts "$PROJECT/hosts.yaml" --out "$PROJECT" --managed /etc/claude-code/managed-settings.json \
    && for script in cooldown-check event-emit notify-apprise session-context; do \
        rm -f "$PROJECT/.claude/hooks/$script.sh"; \
    done
USER ${BASE_USER}
RUN opsctl rehearse --project "$PROJECT"


FROM tools AS image
ARG HOSTS=hosts.yaml
LABEL org.opencontainers.image.title="opsctl" \
    org.opencontainers.image.description="Claude Code, headless, under deterministic guardrails" \
    org.opencontainers.image.licenses="MIT OR Apache-2.0"
ENV CLAUDE_PROJECT_DIR=/app
ENV DISABLE_AUTOUPDATER=1
WORKDIR /app
# /guard belongs to `opsctl serve`, which runs as another user than the agent.
RUN install --directory --owner=agent --group=agent /state /results \
    && install --directory --owner=guard --group=guard /guard /guard/run \
    && install --directory --owner=guard --group=guard --mode=0700 /guard/state
COPY --chmod=0755 entrypoint image/egress /usr/local/bin/
COPY --chmod=0644 image/egress-ssh.conf /etc/ssh/ssh_config.d/
COPY --from=build --chmod=0755 /opsctl /usr/local/bin/opsctl
COPY --chmod=0644 ${HOSTS} hosts.yaml
COPY --chmod=0644 templates/starter/hosts.schema.json hosts.schema.json
RUN opsctl render --managed /etc/claude-code/managed-settings.json \
    && share=/usr/share \
    && mkdir -p "$share/bash-completion/completions" "$share/fish/vendor_completions.d" "$share/zsh/vendor-completions" \
    && opsctl completions bash >"$share/bash-completion/completions/opsctl" \
    && opsctl completions fish >"$share/fish/vendor_completions.d/opsctl.fish" \
    && opsctl completions zsh >"$share/zsh/vendor-completions/_opsctl" \
    && opsctl man --out "$share/man/man1" \
    # With a guard, it connects to hosts; otherwise these names stand for the real programs.
    && for program in ssh scp sftp; do ln -s opsctl "/usr/local/bin/$program"; done
USER 1000:1000
# The build fails if the client does not honour a guarantee.
RUN opsctl rehearse
HEALTHCHECK --interval=5m --timeout=10s --start-period=30s CMD ["opsctl", "doctor", "--quick"]
ENTRYPOINT ["opsctl", "launch", "--alone", "entrypoint"]
