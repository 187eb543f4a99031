export interface Box {
  type: string;
  content: Buffer;
  /** Bytes of the box before its content. */
  head: number;
}

/** The boxes in a buffer. A truncated box ends with the buffer. */
function* boxes(buffer: Buffer): Generator<Box> {
  for (let at = 0; at + 8 <= buffer.length; ) {
    const declared = buffer.readUInt32BE(at);
    const isLong = declared === 1 && at + 16 <= buffer.length;
    const size = isLong ? Number(buffer.readBigUInt64BE(at + 8)) : declared === 0 ? buffer.length - at : declared;
    const head = isLong ? 16 : 8;
    if (size < head) return;
    const end = Math.min(at + size, buffer.length);
    yield { type: buffer.toString('latin1', at + 4, at + 8), content: buffer.subarray(at + head, end), head };
    at += size;
  }
}

/** Boxes that consist of boxes, with the number of bytes before these. */
const containerTypes = 'moov trak mdia minf stbl mvex moof traf udta edts dinf tref wave sinf schi gmhd strk'.split(
  ' ',
);
const containers = new Map(containerTypes.map((type) => [type, 0])).set('meta', 4);

/** Deeper boxes are not read by players either. */
const maxDepth = 12;

/** All boxes in a buffer in their order, each before the boxes that it consists of: players find them wherever they are. */
export function* allBoxes(buffer: Buffer, depth = 0): Generator<Box> {
  for (const box of boxes(buffer)) {
    yield box;
    const before = containers.get(box.type);
    if (before !== undefined && depth < maxDepth) yield* allBoxes(box.content.subarray(before), depth + 1);
  }
}

/** An unsigned number of 4 bytes; 0 outside the buffer. */
export const uint = (buffer: Buffer | undefined, at: number): number =>
  buffer && at >= 0 && at + 4 <= buffer.length ? buffer.readUInt32BE(at) : 0;

/** One of 2 bytes. */
export const short = (buffer: Buffer, at: number): number => (at + 2 <= buffer.length ? buffer.readUInt16BE(at) : 0);

/** One of 8 bytes. */
export const long = (buffer: Buffer, at: number): number =>
  at + 8 <= buffer.length ? Number(buffer.readBigUInt64BE(at)) : 0;
