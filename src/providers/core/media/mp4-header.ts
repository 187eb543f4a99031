/** The first track with pictures of an MP4 file. */
export interface VideoHeader {
  width: number;
  height: number;
  seconds: number;
}

interface Box {
  type: string;
  /** Where its contents begin and end. */
  start: number;
  end: number;
}

const text = (data: DataView, at: number) =>
  String.fromCharCode(data.getUint8(at), data.getUint8(at + 1), data.getUint8(at + 2), data.getUint8(at + 3));

/** The boxes in a part of a file, up to the first broken one. */
function boxesIn(data: DataView, start: number, end: number): Box[] {
  const found: Box[] = [];
  for (let at = start; at + 8 <= end; ) {
    const short = data.getUint32(at);
    const isLong = short === 1 && at + 16 <= end;
    const head = isLong ? 16 : 8;
    const size = isLong ? Number(data.getBigUint64(at + 8)) : short === 0 ? end - at : short;
    if (size < head || at + size > end) break;
    found.push({ type: text(data, at + 4), start: at + head, end: at + size });
    at += size;
  }
  return found;
}

const within = (data: DataView, { start, end }: Box, ...path: string[]): Box | undefined => {
  const [type, ...rest] = path;
  const box = boxesIn(data, start, end).find((one) => one.type === type);
  return box && rest.length > 0 ? within(data, box, ...rest) : box;
};

/** A box with a length in its own scale: `mvhd`, and `mdhd` of a track. */
function secondsOf(data: DataView, box: Box | undefined): number {
  if (!box || box.end - box.start < 20) return 0;
  const isLong = data.getUint8(box.start) === 1 && box.end - box.start >= 32;
  const scale = data.getUint32(box.start + (isLong ? 20 : 12));
  const length = isLong ? Number(data.getBigUint64(box.start + 24)) : data.getUint32(box.start + 16);
  return scale === 0 ? 0 : length / scale;
}

function readTrack(data: DataView, track: Box): VideoHeader | undefined {
  const handler = within(data, track, 'mdia', 'hdlr');
  if (!handler || handler.end - handler.start < 12 || text(data, handler.start + 8) !== 'vide') return undefined;
  const header = within(data, track, 'tkhd');
  if (!header || header.end - header.start < 84) return undefined;
  // The last two fields, in 65,536ths of a pixel.
  const [width, height] = [header.end - 8, header.end - 4].map((at) => Math.round(data.getUint32(at) / 65_536));
  return { width: width!, height: height!, seconds: secondsOf(data, within(data, track, 'mdia', 'mdhd')) };
}

/**
 * Reads the size and the length of a video from the `moov` box of its file.
 * @param moov the contents of the box
 * @returns undefined without a track of pictures that has a size and a length
 */
export function readVideoHeader(moov: Uint8Array): VideoHeader | undefined {
  const data = new DataView(moov.buffer, moov.byteOffset, moov.byteLength);
  const whole = { type: 'moov', start: 0, end: moov.length };
  const tracks = boxesIn(data, 0, moov.length).filter(({ type }) => type === 'trak');
  const found = tracks.map((track) => readTrack(data, track)).find(Boolean);
  if (!found || found.width === 0 || found.height === 0) return undefined;
  // In a fragmented film neither the track nor the film has a length; the film's extension has it.
  const extension = within(data, whole, 'mvex', 'mehd');
  const inFragments = extension ? fragmentedSeconds(data, extension, within(data, whole, 'mvhd')) : 0;
  const seconds = found.seconds || secondsOf(data, within(data, whole, 'mvhd')) || inFragments;
  return seconds > 0 ? { ...found, seconds } : undefined;
}

function fragmentedSeconds(data: DataView, extension: Box, film: Box | undefined): number {
  if (!film || extension.end - extension.start < 8 || film.end - film.start < 20) return 0;
  const isLong = data.getUint8(extension.start) === 1 && extension.end - extension.start >= 12;
  const length = isLong ? Number(data.getBigUint64(extension.start + 4)) : data.getUint32(extension.start + 4);
  const scale = data.getUint32(film.start + (data.getUint8(film.start) === 1 ? 20 : 12));
  return scale === 0 ? 0 : length / scale;
}
