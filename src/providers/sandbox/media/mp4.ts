/** Boxes that contain boxes, on the way to those with times. */
const containers = ['moov', 'trak', 'mdia', 'minf', 'stbl'];

interface Box {
  type: string;
  /** Where its contents begin and end. */
  start: number;
  end: number;
}

function* boxes(file: Buffer, start: number, end: number): Generator<Box> {
  for (let at = start; at + 8 <= end; ) {
    const size = file.readUInt32BE(at);
    if (size < 8 || at + size > end) return;
    const box = { type: file.toString('latin1', at + 4, at + 8), start: at + 8, end: at + size };
    yield box;
    if (containers.includes(box.type)) yield* boxes(file, box.start, box.end);
    at += size;
  }
}

/** The boxes of the file itself, without those within them. */
function topBoxes(file: Buffer): Box[] {
  const found: Box[] = [];
  for (const box of boxes(file, 0, file.length)) {
    if (box.start - 8 >= (found.at(-1)?.end ?? 0)) found.push(box);
  }
  return found;
}

/** Adds `shift` to the places of the samples, which a track names from the beginning of its file. */
function shiftSamples(moov: Buffer, shift: number): void {
  for (const { type, start } of boxes(moov, 0, moov.length)) {
    if (type === 'co64') throw new Error('An encoded video names its samples in another way.');
    if (type !== 'stco') continue;
    const count = moov.readUInt32BE(start + 4);
    for (let at = start + 8; at < start + 8 + 4 * count; at += 4) moov.writeUInt32BE(moov.readUInt32BE(at) + shift, at);
  }
}

/** The same video with `moov` in front of the samples, so that a player can begin before all of it has arrived. */
export function fastStart(file: Buffer): Buffer {
  const top = topBoxes(file);
  const [moov, samples] = ['moov', 'mdat'].map((name) => top.find(({ type }) => type === name));
  if (!moov || !samples || moov.start < samples.start) return file;
  const [moovStart, samplesStart] = [moov.start - 8, samples.start - 8];
  const head = Buffer.from(file.subarray(moovStart, moov.end));
  shiftSamples(head, head.length);
  const parts = [file.subarray(0, samplesStart), head, file.subarray(samplesStart, moovStart), file.subarray(moov.end)];
  return Buffer.concat(parts);
}

/**
 * Gives an MP4 file of one video track and version 0 another length, with frames of equal lengths, and removes its
 * times of creation, so that equal requests give equal bytes. The encoder knows only whole frames a second.
 * @param ticksPerFrame in units of the file's own time scale, which movie and track share
 */
export function retimed(file: Buffer, frames: number, ticksPerFrame: number): Buffer {
  const length = frames * ticksPerFrame;
  const lengthAt: Record<string, number> = { mvhd: 16, tkhd: 20, mdhd: 16 };
  for (const { type, start } of boxes(file, 0, file.length)) {
    const at = lengthAt[type];
    if (at === undefined && type !== 'stts') continue;
    if (file[start] !== 0) throw new Error(`The ${type} of an encoded video has another version.`);
    if (at === undefined) {
      if (file.readUInt32BE(start + 4) !== 1) throw new Error('The frames of an encoded video have different lengths.');
      file.writeUInt32BE(ticksPerFrame, start + 12);
    } else {
      file.fill(0, start + 4, start + 12);
      file.writeUInt32BE(length, start + at);
    }
  }
  return file;
}
