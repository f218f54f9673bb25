# An image with nothing but Sonde: make release, then
#   docker build --build-arg ARCH=amd64 -t sonde .
# It needs the PID namespace of the JVM, and CAP_SYS_PTRACE and CAP_PERFMON.
FROM scratch
ARG ARCH=amd64
COPY dist/sonde-linux-${ARCH} /sonde
COPY LICENSE /LICENSE
ENTRYPOINT ["/sonde"]
