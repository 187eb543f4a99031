/**
 * Format tags of samples that are not compressed: whole numbers, floating point, and one that refers to a later tag.
 */
const plain = [1, 3, 0xfffe];

/** Bytes of a second, 0 for a format that makes no sense. */
function bytesPerSecond(format: Buffer): number {
  if (format.length < 16) return 0;
  const [channels, hertz, declared, bits] = [
    format.readUInt16LE(2),
    format.readUInt32LE(4),
    format.readUInt32LE(8),
    format.readUInt16LE(14),
  ] as [number, number, number, number];
  return plain.includes(format.readUInt16LE(0)) ? (channels * hertz * bits) / 8 : declared;
}

/**
 * The length of a WAV file: that of its samples, whatever its header says about their number.
 * @returns seconds, 0 without sound
 */
export function wavSeconds(file: Buffer): number {
  let rate = 0;
  let bytes = 0;
  for (let at = 12; at + 8 <= file.length; ) {
    const declared = file.readUInt32LE(at + 4);
    const type = file.toString('latin1', at, at + 4);
    // A file that is written while it is recorded has no sizes.
    const left = file.length - at - 8;
    const size = type === 'data' && declared === 0 ? left : Math.min(declared, left);
    if (type === 'fmt ') rate = bytesPerSecond(file.subarray(at + 8, at + 8 + size));
    if (type === 'data') bytes += size;
    at += 8 + size + (size % 2);
  }
  return rate > 0 ? bytes / rate : 0;
}
