/** Kilobits by the index in a header: of MPEG 1 layers 1 to 3, then of MPEG 2 and 2.5 layer 1, and layers 2 and 3. */
const bitRates = {
  first: [
    [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  second: [
    [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
} as const;

/** Hertz of MPEG 1 by the index in a header. MPEG 2 has half of it, MPEG 2.5 a quarter. */
const sampleRates = [44_100, 48_000, 32_000];

interface Frame {
  /** In bytes. */
  size: number;
  seconds: number;
  /** Equal in all frames of a stream: version, layer and sample rate. */
  kind: number;
}

function frameAt(file: Buffer, at: number): Frame | undefined {
  if (at + 4 > file.length || file[at] !== 0xff || (file[at + 1]! & 0xe0) !== 0xe0) return undefined;
  const [second, third] = [file[at + 1]!, file[at + 2]!];
  const [version, layer] = [(second >> 3) & 3, 4 - ((second >> 1) & 3)];
  const [bitRate, rate] = [third >> 4, (third >> 2) & 3];
  // Reserved values, and frames whose size no header gives.
  if (version === 1 || layer === 4 || bitRate === 0 || bitRate === 15 || rate === 3) return undefined;
  const isFirst = version === 3;
  const kilobits = bitRates[isFirst ? 'first' : 'second'][layer - 1]![bitRate]!;
  const hertz = sampleRates[rate]! / (isFirst ? 1 : version === 2 ? 2 : 4);
  const samples = layer === 1 ? 384 : layer === 3 && !isFirst ? 576 : 1152;
  const unit = layer === 1 ? 4 : 1;
  const slots = Math.floor((samples * kilobits * 125) / (hertz * unit)) + ((third >> 1) & 1);
  return { size: slots * unit, seconds: samples / hertz, kind: (second & 0x1e) * 4 + rate };
}

/** Where the sound begins: behind tags of ID3v2. */
function behindTags(file: Buffer): number {
  let at = 0;
  while (file.toString('latin1', at, at + 3) === 'ID3' && at + 10 <= file.length) {
    const size = [6, 7, 8, 9].reduce((sum, offset) => sum * 128 + (file[at + offset]! & 0x7f), 0);
    const footer = (file[at + 5]! & 0x10) !== 0 ? 10 : 0;
    at += 10 + size + footer;
  }
  return at;
}

/** A frame without sound that describes the others. Its figures are not trusted. */
function isInfo(file: Buffer, at: number): boolean {
  const head = file.toString('latin1', at, at + 48);
  return head.includes('Xing') || head.includes('Info') || head.includes('VBRI');
}

/** A stream is recognized by so many frames in a row: fewer are found by chance in files of any kind. */
const minFrames = 3;

/**
 * Whether sound begins here. By chance some bytes look like a frame, and then what follows does not look like the next one.
 * @param isStart nothing but tags stands before it, so that it may be the whole of a short recording
 */
function beginsStream(file: Buffer, start: number, isStart: boolean): boolean {
  let at = start;
  let kind: number | undefined;
  for (let count = 0; count < minFrames; count++) {
    if (isStart && count > 0 && at === file.length) return true;
    const frame = frameAt(file, at);
    if (!frame || (kind !== undefined && frame.kind !== kind)) return false;
    kind = frame.kind;
    at += frame.size;
  }
  return true;
}

/**
 * The length of MPEG audio: the sum of all its frames, whatever any header says.
 * @returns seconds, 0 for a file that is no MPEG audio
 */
export function mpegSeconds(file: Buffer): number {
  const start = behindTags(file);
  let seconds = 0;
  let kind: number | undefined;
  // Where the frame before ended.
  let expectedAt = -1;
  for (let at = start; at < file.length; ) {
    const frame = frameAt(file, at);
    // Players that have found sound play every frame, also one of another kind, and behind other bytes.
    const isPlayed = kind !== undefined && (at === expectedAt || (frame && at + frame.size <= file.length));
    if (!frame || !(isPlayed || beginsStream(file, at, at === start))) {
      at += 1;
      continue;
    }
    if (kind !== undefined || !isInfo(file, at)) seconds += frame.seconds;
    kind = frame.kind;
    at += frame.size;
    expectedAt = at;
  }
  return seconds;
}
