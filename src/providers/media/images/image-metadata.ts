import { inflateSync } from 'node:zlib';

/** Larger profiles are left out, and the image is treated as sRGB. Profiles of printers are half as large. */
export const maxProfileBytes = 1024 * 1024;

/** The prefix of an EXIF block in a JPEG, which a WebP may also have. */
export const exifHead = Buffer.from('Exif\0\0', 'latin1');

const orientationTag = 0x0112;
const shortType = 3;
const entryBytes = 12;

/** The orientation that an EXIF block states, 1 to 8; undefined if it states none that changes the image. */
function orientationIn(block: Buffer): number | undefined {
  const tiff = block.subarray(0, exifHead.length).equals(exifHead) ? block.subarray(exifHead.length) : block;
  const order = tiff.toString('latin1', 0, 2);
  if (tiff.length < 8 || (order !== 'II' && order !== 'MM')) return undefined;
  const uint16 = (at: number) => (order === 'II' ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const directory = order === 'II' ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (directory + 2 > tiff.length) return undefined;
  for (let left = uint16(directory), at = directory + 2; left > 0 && at + entryBytes <= tiff.length; left--) {
    if (uint16(at) === orientationTag && uint16(at + 2) === shortType) {
      const value = uint16(at + 8);
      return value >= 2 && value <= 8 ? value : undefined;
    }
    at += entryBytes;
  }
  return undefined;
}

/** An EXIF block with only the orientation of a given one; undefined if that has none. */
export function orientationAlone(block: Buffer): Buffer | undefined {
  const orientation = orientationIn(block);
  if (orientation === undefined) return undefined;
  const tiff = Buffer.alloc(26);
  tiff.write('MM\0*', 'latin1');
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(1, 8);
  tiff.writeUInt16BE(orientationTag, 10);
  tiff.writeUInt16BE(shortType, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  return tiff;
}

/** Whether the content of a PNG's iCCP chunk unpacks to a profile that is not too large. */
export function isSmallProfile(content: Buffer): boolean {
  const name = content.indexOf(0);
  if (name < 1) return false;
  try {
    inflateSync(content.subarray(name + 2), { maxOutputLength: maxProfileBytes });
    return true;
  } catch {
    return false;
  }
}
