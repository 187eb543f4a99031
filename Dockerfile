# One image for all roles; the command selects them. Debian, because Temporal's native bridge has no build for musl.
FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Without the programs of the local stack (PostgreSQL, Node, Temporal's test server): they are development dependencies.
RUN npm ci --omit=dev

# The console's pages: what builds them is no part of the image.
FROM node:24-bookworm-slim AS console
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY web ./web
COPY sdk/typescript/src ./sdk/typescript/src
RUN node web/build.ts

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY . .
COPY --from=console /app/web/dist ./web/dist
# The workflow code is bundled at build time, so that webpack never runs inside a worker.
RUN node workers/prepare-bundle.ts /app/bundles
# Returned by /api/version: docker build --build-arg COMMIT_SHA=$(git rev-parse HEAD) .
ARG COMMIT_SHA=
RUN printf '%s' "$COMMIT_SHA" >COMMIT && chmod -R a+rX,go-w .

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    WORKFLOW_BUNDLE_DIR=/var/lib/atelier/bundles \
    MAIL_FOLDER=/var/lib/atelier/mail \
    STORAGE_DIR=/var/lib/atelier/files \
    TOOLS_DIR=/var/lib/atelier/tools \
    NODE_COMPILE_CACHE=/tmp/compile-cache
WORKDIR /app
# Owned by root: the process cannot change its own program.
COPY --from=build /app ./
# A new volume takes the owner of the folder that it is mounted on.
RUN install -d -o node -g node /var/lib/atelier /var/lib/atelier/bundles /var/lib/atelier/mail /var/lib/atelier/files \
    /var/lib/atelier/tools
USER node
EXPOSE 3000
CMD ["node", "workers/main.ts", "api"]
