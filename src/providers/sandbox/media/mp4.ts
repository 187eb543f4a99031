/** Boxes that contain boxes, on the way to those with times. */
const containers = ['moov', 'trak', 'mdia', 'minf', 'stbl'];

interface Box {
  type: string;
  /** Of its contents. */
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

/**
 * Gives an MP4 file of one video track and version 0 another length, with frames of equal lengths, and removes the times at
 * which it was made, so that equal requests give equal bytes. The encoder knows whole frames a second alone.
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
