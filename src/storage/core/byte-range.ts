/** A part of a file: the positions of its first and its last byte. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * Reads the header Range (RFC 9110, 14) for a file of `bytes` bytes.
 * @returns the range; `whole` where the header is malformed, names another unit or several ranges, all of which a server
 * may ignore; `unsatisfiable` where nothing of the file is in the range
 */
export function readRange(header: string | undefined, bytes: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '') ?? [];
  if (from === '' && to === '') return 'whole';
  if (from === '') {
    const length = Math.min(Number(to), bytes);
    return length === 0 ? 'unsatisfiable' : { first: bytes - length, last: bytes - 1 };
  }
  const [first, last] = [Number(from), to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1)];
  if (to !== '' && Number(to) < first) return 'whole';
  return first >= bytes ? 'unsatisfiable' : { first, last };
}
