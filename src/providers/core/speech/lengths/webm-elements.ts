/** Ids of elements, with their marks. */
export const ids = {
  header: 0x1a45dfa3,
  segment: 0x18538067,
  seekHead: 0x114d9b74,
  seek: 0x4dbb,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  tracks: 0x1654ae6b,
  track: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  defaultDuration: 0x23e383,
  codec: 0x86,
  codecPrivate: 0x63a2,
  encodings: 0x6d80,
  audio: 0xe1,
  hertz: 0xb5,
  channels: 0x9f,
  bits: 0x6264,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  group: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;

const { segment, seekHead, seek, info, tracks, track, audio, cluster, group } = ids;

/** Elements whose contents are walked through like what follows them: live recordings do not know their sizes. */
const entered: ReadonlySet<number> = new Set([segment, seekHead, seek, info, tracks, track, audio, cluster, group]);

export interface Element {
  id: number;
  /** Empty for an element that is entered. */
  content: Buffer;
  /** Where the content begins in the file. */
  at: number;
  /** It ends where its size says, inside the element that it is a part of. */
  isWhole: boolean;
}

interface VariableNumber {
  value: number;
  /** In bytes. */
  size: number;
}

/** A number of variable size. @param keepsMark true for ids */
export function readNumber(file: Buffer, at: number, keepsMark: boolean): VariableNumber | undefined {
  const first = file[at];
  if (first === undefined || first === 0) return undefined;
  const size = Math.clz32(first) - 23;
  if (at + size > file.length) return undefined;
  let value = keepsMark ? first : first & (0xff >> size);
  for (let index = 1; index < size; index++) value = value * 256 + file[at + index]!;
  return { value, size };
}

const maxIdBytes = 4;
const clusterId = Buffer.from([0x1f, 0x43, 0xb6, 0x75]);

/** Whether players that lost their way in these bytes would find sound in them: they look for the next cluster. */
export const hidesCluster = (content: Buffer): boolean => content.includes(clusterId);

/**
 * The elements of a file in their order, each before those that it consists of. Behind bytes that are no element it goes on
 * with the next cluster, as players do.
 */
export function* elements(file: Buffer): Generator<Element> {
  /** Where the elements end that are entered and know their size. */
  const ends: number[] = [];
  for (let at = 0; at < file.length; ) {
    while (ends.length > 0 && at >= ends.at(-1)!) ends.pop();
    const id = readNumber(file, at, true);
    const size = id && id.size <= maxIdBytes ? readNumber(file, at + id.size, false) : undefined;
    if (!id || !size) {
      at = file.indexOf(clusterId, at + 1);
      if (at === -1) return;
      ends.length = 0;
      continue;
    }
    const start = at + id.size + size.size;
    const isEndless = size.value === 2 ** (7 * size.size) - 1;
    const end = isEndless ? Number.POSITIVE_INFINITY : start + size.value;
    const isEntered = entered.has(id.value);
    const limit = ends.at(-1) ?? Number.POSITIVE_INFINITY;
    if (isEntered && !isEndless) ends.push(Math.min(end, limit));
    const content = file.subarray(start, isEntered ? start : Math.min(file.length, end));
    yield { id: id.value, content, at: start, isWhole: end <= Math.min(limit, file.length) };
    at = isEntered ? start : end;
  }
}
