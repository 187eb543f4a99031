# One image for all roles; the command selects them. Debian, because Temporal's native bridge has no build for musl.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev

FROM node:24-bookworm-slim AS bundle
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY . .
# The workflow code is bundled at build time, so that webpack never runs inside a worker.
RUN node workers/prepare-bundle.ts /app/bundles

FROM node:24-bookworm-slim
# Returned by /api/version: docker build --build-arg COMMIT_SHA=$(git rev-parse HEAD) .
ARG COMMIT_SHA=
ENV NODE_ENV=production \
    COMMIT_SHA=$COMMIT_SHA \
    HOST=0.0.0.0 \
    WORKFLOW_BUNDLE_DIR=/app/bundles \
    NODE_COMPILE_CACHE=/tmp/compile-cache
WORKDIR /app
COPY --from=bundle --chown=node:node /app ./
USER node
EXPOSE 3000
CMD ["node", "workers/main.ts", "api"]
