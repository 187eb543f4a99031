import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { shareBody } from './connection/outgoing-answer.ts';
import type { ApiContext } from './context.ts';

/** RFC 9110, 13.1.2: one of a list of tags, compared weakly. */
const isKnown = (ifNoneMatch: string | undefined, opaque: string): boolean =>
  (ifNoneMatch ?? '').split(',').some((tag) => ['*', opaque].includes(tag.trim().replace(/^W\//, '')));

const acceptsGzip = (acceptEncoding: string | undefined): boolean =>
  (acceptEncoding ?? '').split(',').some((coding) => /^\s*(x-)?gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(coding));

function serialize(document: unknown) {
  const plain = shareBody(new TextEncoder().encode(JSON.stringify(document)));
  const opaque = `"${createHash('sha256').update(plain).digest('base64url')}"`;
  return { plain, compressed: shareBody(new Uint8Array(gzipSync(plain))), opaque };
}

/**
 * Answers with the OpenAPI document. It has hundreds of kilobytes and needs no key, so it is serialized and compressed
 * once, and a client that has it is answered with 304. That is done for the first who asks: it takes a tenth of a start,
 * and few processes are ever asked.
 */
export function documentHandler(makeDocument: () => unknown): (c: ApiContext) => Response {
  let made: ReturnType<typeof serialize> | undefined;
  return (c) => {
    made ??= serialize(makeDocument());
    const { plain, compressed, opaque } = made;
    // Weak, because the compressed document has the same tag.
    const always = { ETag: `W/${opaque}`, Vary: 'Accept-Encoding', 'Cache-Control': 'no-cache' };
    const asJson = { ...always, 'Content-Type': 'application/json' };
    if (isKnown(c.req.header('if-none-match'), opaque)) return c.body(null, 304, always);
    if (!acceptsGzip(c.req.header('accept-encoding'))) return c.body(plain, 200, asJson);
    return c.body(compressed, 200, { ...asJson, 'Content-Encoding': 'gzip' });
  };
}
