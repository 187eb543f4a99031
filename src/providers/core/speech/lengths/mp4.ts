interface Box {
  type: string;
  content: Buffer;
}

/** The boxes in a buffer. A truncated box ends with the buffer. */
function* boxes(buffer: Buffer): Generator<Box> {
  for (let at = 0; at + 8 <= buffer.length; ) {
    const short = buffer.readUInt32BE(at);
    const isLong = short === 1 && at + 16 <= buffer.length;
    const size = isLong ? Number(buffer.readBigUInt64BE(at + 8)) : short === 0 ? buffer.length - at : short;
    const head = isLong ? 16 : 8;
    if (size < head) return;
    const end = Math.min(at + size, buffer.length);
    yield { type: buffer.toString('latin1', at + 4, at + 8), content: buffer.subarray(at + head, end) };
    at += size;
  }
}

const find = (buffer: Buffer, ...path: string[]): Buffer | undefined =>
  path.reduce<Buffer | undefined>((inside, type) => {
    for (const box of inside ? boxes(inside) : []) if (box.type === type) return box.content;
    return undefined;
  }, buffer);

const uint = (buffer: Buffer | undefined, at: number) =>
  buffer && at + 4 <= buffer.length ? buffer.readUInt32BE(at) : 0;
const flagsOf = (buffer: Buffer) => uint(buffer, 0) & 0xff_ffff;

interface Track {
  id: number;
  /** Units of a second. */
  scale: number;
  /** Length of all samples so far, in units. */
  length: number;
  /** Length of a sample in a fragment that does not state it. */
  sampleLength: number;
}

/** The length of all samples, from the table of their lengths. */
function lengthInTable(table: Buffer | undefined): number {
  const count = uint(table, 4);
  let length = 0;
  for (let entry = 0, at = 8; entry < count && at + 8 <= table!.length; entry++, at += 8) {
    length += uint(table, at) * uint(table, at + 4);
  }
  return length;
}

function trackOf(trak: Buffer): Track | undefined {
  const handler = find(trak, 'mdia', 'hdlr');
  if (handler?.toString('latin1', 8, 12) !== 'soun') return undefined;
  const [tkhd, mdhd] = [find(trak, 'tkhd'), find(trak, 'mdia', 'mdhd')];
  return {
    id: uint(tkhd, tkhd?.[0] === 1 ? 20 : 12),
    scale: uint(mdhd, mdhd?.[0] === 1 ? 20 : 12),
    length: lengthInTable(find(trak, 'mdia', 'minf', 'stbl', 'stts')),
    sampleLength: 0,
  };
}

function tracksIn(moov: Buffer): Map<number, Track> {
  const tracks = new Map<number, Track>();
  for (const { type, content } of boxes(moov)) {
    const track = type === 'trak' ? trackOf(content) : undefined;
    if (track && track.scale > 0) tracks.set(track.id, track);
  }
  for (const { type, content } of boxes(find(moov, 'mvex') ?? Buffer.alloc(0))) {
    const track = type === 'trex' ? tracks.get(uint(content, 4)) : undefined;
    if (track) track.sampleLength = uint(content, 12);
  }
  return tracks;
}

/** The number of bytes of optional fields before the searched one, by the flag of each field. */
const beforeDefault: [number, number][] = [
  [0x1, 8],
  [0x2, 4],
];
const beforeSamples: [number, number][] = [
  [0x1, 4],
  [0x4, 4],
];
const ofSample: [number, number][] = [0x100, 0x200, 0x400, 0x800].map((flag) => [flag, 4]);
const bytesOf = (fields: [number, number][], flags: number) =>
  fields.reduce((sum, [flag, size]) => sum + ((flags & flag) === 0 ? 0 : size), 0);

/** The length of the samples of a run of a fragment. */
function lengthOfRun(run: Buffer, sampleLength: number): number {
  const [flags, count] = [flagsOf(run), uint(run, 4)];
  const size = bytesOf(ofSample, flags);
  if ((flags & 0x100) === 0) return count * sampleLength;
  let length = 0;
  for (
    let sample = 0, at = 8 + bytesOf(beforeSamples, flags);
    sample < count && at < run.length;
    sample++, at += size
  ) {
    length += uint(run, at);
  }
  return length;
}

function addFragment(tracks: Map<number, Track>, traf: Buffer): void {
  const header = find(traf, 'tfhd');
  const track = tracks.get(uint(header, 4));
  if (!header || !track) return;
  const flags = flagsOf(header);
  const own = (flags & 0x8) === 0 ? undefined : uint(header, 8 + bytesOf(beforeDefault, flags));
  for (const { type, content } of boxes(traf)) {
    if (type === 'trun') track.length += lengthOfRun(content, own ?? track.sampleLength);
  }
}

/**
 * The length of the sound of an MP4 file: the sum of all samples of its longest sound track, also in fragments,
 * whatever the header of the file or of the track says.
 * @returns seconds, 0 without sound
 */
export function mp4Seconds(file: Buffer): number {
  const moov = find(file, 'moov');
  if (!moov) return 0;
  const tracks = tracksIn(moov);
  for (const { type, content } of boxes(file)) {
    if (type !== 'moof') continue;
    for (const part of boxes(content)) if (part.type === 'traf') addFragment(tracks, part.content);
  }
  return [...tracks.values()].reduce((max, { length, scale }) => Math.max(max, length / scale), 0);
}
