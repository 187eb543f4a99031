import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { shareBody } from './connection/outgoing-answer.ts';
import type { ApiContext } from './context.ts';

/** A text that is kept for every caller, as it is and compressed. */
export interface KeptText {
  plain: Uint8Array<ArrayBuffer>;
  compressed: Uint8Array<ArrayBuffer>;
  /** A digest of the text, in quotes. */
  opaque: string;
}

/** RFC 9110, 13.1.2: one of a list of tags, compared weakly. */
const isKnown = (ifNoneMatch: string | undefined, opaque: string): boolean =>
  (ifNoneMatch ?? '').split(',').some((tag) => ['*', opaque].includes(tag.trim().replace(/^W\//, '')));

const acceptsGzip = (acceptEncoding: string | undefined): boolean =>
  (acceptEncoding ?? '').split(',').some((coding) => /^\s*(x-)?gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(coding));

/** Encodes, compresses and digests a text, once for all requests. */
export function keepText(text: string): KeptText {
  const plain = shareBody(new TextEncoder().encode(text));
  const opaque = `"${createHash('sha256').update(plain).digest('base64url')}"`;
  return { plain, compressed: shareBody(new Uint8Array(gzipSync(plain))), opaque };
}

/** Answers with a kept text: compressed if the client accepts it, and with 304 if the client has it. */
export function answerText(c: ApiContext, { plain, compressed, opaque }: KeptText, contentType: string): Response {
  // Weak, because the compressed text has the same tag.
  const always = { ETag: `W/${opaque}`, Vary: 'Accept-Encoding', 'Cache-Control': 'no-cache' };
  if (isKnown(c.req.header('if-none-match'), opaque)) return c.body(null, 304, always);
  const headers = { ...always, 'Content-Type': contentType };
  if (!acceptsGzip(c.req.header('accept-encoding'))) return c.body(plain, 200, headers);
  return c.body(compressed, 200, { ...headers, 'Content-Encoding': 'gzip' });
}
