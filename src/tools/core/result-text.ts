import { withoutEnd } from '../../platform/core/without-end.ts';

/** Bytes of UTF-8 that a model and a caller see of a result. */
export const maxResultLength = 32 * 1024;

const encoder = new TextEncoder();

/** A part of a result in the form of the Model Context Protocol. */
export interface ResultPart {
  type: string;
  text?: unknown;
  data?: unknown;
  mimeType?: unknown;
  uri?: unknown;
  resource?: unknown;
}

/** The number of bytes that a base64 text encodes. */
const bytesOf = (base64: unknown): number =>
  typeof base64 === 'string' ? Math.floor((withoutEnd(base64, '=').length * 3) / 4) : 0;

const placeholder = (type: unknown, bytes: number) =>
  `[${typeof type === 'string' ? type.slice(0, 100) : 'application/octet-stream'}, ${bytes} bytes]`;

function textOfPart(part: ResultPart): string {
  if (part.type === 'text') return String(part.text ?? '');
  if (part.type === 'resource_link') return `[${String(part.uri).slice(0, 2_048)}]`;
  if (part.type !== 'resource') return placeholder(part.mimeType, bytesOf(part.data));
  const { text, blob, mimeType } = (part.resource ?? {}) as { text?: unknown; blob?: unknown; mimeType?: unknown };
  return typeof text === 'string' ? text : placeholder(mimeType, bytesOf(blob));
}

/** One text of all parts. A part that is not text is described, as `[image/png, 1024 bytes]`. */
export const textOfParts = (parts: readonly ResultPart[]): string => parts.map(textOfPart).join('\n');

/** Cuts a text to 32 KiB of UTF-8, its last line included, which says how many bytes there were. */
export function cutResult(text: string): string {
  // A code unit of UTF-16 is at most three bytes.
  if (text.length * 3 <= maxResultLength) return text;
  const { length } = encoder.encode(text);
  if (length <= maxResultLength) return text;
  const note = `\n[truncated, ${length} bytes in all]`;
  const room = new Uint8Array(maxResultLength - note.length);
  const { read } = encoder.encodeInto(text, room);
  return text.slice(0, read) + note;
}
