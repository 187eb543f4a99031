/** The contents of a box of an MP4 file, by its path. @throws Error when it is missing */
export function mp4Box(mp4: Buffer, ...path: string[]): Buffer {
  const [type, ...rest] = path;
  for (let at = 0; at + 8 <= mp4.length; at += mp4.readUInt32BE(at)) {
    if (mp4.toString('latin1', at + 4, at + 8) !== type) continue;
    const content = mp4.subarray(at + 8, at + mp4.readUInt32BE(at));
    return rest.length === 0 ? content : mp4Box(content, ...rest);
  }
  throw new Error(`The file has no box ${type}.`);
}

/** What a player reads first of an MP4 file of one track: its seconds and its pixels, and whether all of it is there. */
export function measureMp4(mp4: Buffer) {
  const header = mp4Box(mp4, 'moov', 'mvhd');
  const track = mp4Box(mp4, 'moov', 'trak', 'tkhd');
  const lengths = mp4Box(mp4, 'moov', 'trak', 'mdia', 'minf', 'stbl', 'stsz');
  const samples = Array.from({ length: lengths.readUInt32BE(8) }, (_, at) => lengths.readUInt32BE(12 + at * 4));
  return {
    brand: mp4Box(mp4, 'ftyp').toString('latin1', 0, 4),
    seconds: header.readUInt32BE(16) / header.readUInt32BE(12),
    width: track.readUInt32BE(76) / 65_536,
    height: track.readUInt32BE(80) / 65_536,
    frames: samples.length,
    // What a player needs first stands first.
    isFastStart: mp4.indexOf('moov') < mp4.indexOf('mdat'),
    isWhole: samples.reduce((sum, one) => sum + one, 0) <= mp4Box(mp4, 'mdat').length,
  };
}
