/** A size of ID3: 7 bits in each byte. */
const syncSafe = (size: number): Buffer =>
  Buffer.from([(size >> 21) & 0x7f, (size >> 14) & 0x7f, (size >> 7) & 0x7f, size & 0x7f]);

const utf8 = Buffer.from([3]);

function frame(id: string, text: string): Buffer {
  const content = Buffer.concat([utf8, Buffer.from(text)]);
  return Buffer.concat([Buffer.from(id, 'latin1'), syncSafe(content.length), Buffer.alloc(2), content]);
}

/** An ID3v2.4 tag for the start of an MP3 file: the program that made it, and texts under names of our own. */
export function id3Tag(madeBy: string, texts: Readonly<Record<string, string>> = {}): Buffer {
  const own = Object.entries(texts).map(([name, text]) => frame('TXXX', `${name}\0${text}`));
  const frames = Buffer.concat([frame('TSSE', madeBy), ...own]);
  return Buffer.concat([Buffer.from('ID3\x04\0\0', 'latin1'), syncSafe(frames.length), frames]);
}
