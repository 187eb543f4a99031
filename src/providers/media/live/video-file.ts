import { type FileHandle, open } from 'node:fs/promises';
import { readVideoHeader, type VideoHeader } from '../../core/media/mp4-header.ts';

/** The index of a film. Films of a few seconds have an index of some kilobytes. */
const maxMoovBytes = 16 * 1024 * 1024;

interface Box {
  type: string;
  start: number;
  /** Bytes before its contents. */
  head: number;
  size: number;
}

async function readBox(file: FileHandle, at: number, fileSize: number): Promise<Box | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, at);
  if (bytesRead < 8) return undefined;
  const short = buffer.readUInt32BE(0);
  const isLong = short === 1 && bytesRead === 16;
  const size = isLong ? Number(buffer.readBigUInt64BE(8)) : short === 0 ? fileSize - at : short;
  const head = isLong ? 16 : 8;
  return size >= head ? { type: buffer.toString('latin1', 4, 8), start: at, head, size } : undefined;
}

/**
 * Reads the positions of the boxes of an MP4 file, and the size and the length from its index. Pictures are not
 * decoded.
 */
export async function readVideoFile(path: string): Promise<VideoHeader | 'another type' | 'damaged'> {
  const file = await open(path);
  try {
    const { size: fileSize } = await file.stat();
    const first = await readBox(file, 0, fileSize);
    if (first?.type !== 'ftyp') return 'another type';
    let header: VideoHeader | undefined;
    let hasPictures = false;
    for (let at = 0; at < fileSize; ) {
      const box = await readBox(file, at, fileSize);
      // A truncated file ends in the middle of a box.
      if (!box || at + box.size > fileSize) return 'damaged';
      if (box.type === 'moov' && box.size <= maxMoovBytes) {
        const moov = Buffer.alloc(box.size - box.head);
        await file.read(moov, 0, moov.length, at + box.head);
        header ??= readVideoHeader(moov);
      }
      hasPictures ||= box.type === 'mdat' && box.size > box.head;
      at += box.size;
    }
    return header && hasPictures ? header : 'damaged';
  } finally {
    await file.close();
  }
}
