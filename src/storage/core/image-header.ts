export interface ImageHeader {
  type: 'png' | 'jpg' | 'webp';
  width: number;
  height: number;
}

const startsWith = (bytes: Uint8Array, ...start: number[]) => start.every((byte, index) => bytes[index] === byte);
const text = (bytes: Uint8Array, from: number) => String.fromCharCode(...bytes.subarray(from, from + 4));
const view = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function readPng(bytes: Uint8Array): ImageHeader | undefined {
  if (bytes.length < 33 || text(bytes, 12) !== 'IHDR') return undefined;
  return { type: 'png', width: view(bytes).getUint32(16), height: view(bytes).getUint32(20) };
}

/** The size is in the first segment that begins a frame; SOF0 to SOF15 without the tables among them. */
function readJpeg(bytes: Uint8Array): ImageHeader | undefined {
  const data = view(bytes);
  for (let at = 2; at + 9 <= bytes.length; ) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1]!;
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { type: 'jpg', width: data.getUint16(at + 7), height: data.getUint16(at + 5) };
    // The picture itself, or its end, without a frame before it.
    if (marker === 0xda || marker === 0xd9) return undefined;
    at += 2 + Math.max(2, data.getUint16(at + 2));
  }
  return undefined;
}

function readWebp(bytes: Uint8Array): ImageHeader | undefined {
  if (bytes.length < 30) return undefined;
  const data = view(bytes);
  switch (text(bytes, 12)) {
    case 'VP8 ':
      return { type: 'webp', width: data.getUint16(26, true) & 0x3fff, height: data.getUint16(28, true) & 0x3fff };
    case 'VP8L': {
      const bits = data.getUint32(21, true);
      return { type: 'webp', width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X': {
      const at = (from: number) => (data.getUint32(from, true) & 0xffffff) + 1;
      return { type: 'webp', width: at(24), height: data.getUint16(27, true) + (bytes[29]! << 16) + 1 };
    }
    default:
      return undefined;
  }
}

/**
 * Reads the type and the size of an image from its first bytes, whatever its name and its declared type say. It decodes
 * nothing, so that an image that would fill the memory is detected before any allocation.
 * @returns undefined for what is no PNG, JPEG or WebP, or has no size
 */
export function readImageHeader(bytes: Uint8Array): ImageHeader | undefined {
  const found = startsWith(bytes, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
    ? readPng(bytes)
    : startsWith(bytes, 0xff, 0xd8, 0xff)
      ? readJpeg(bytes)
      : text(bytes, 0) === 'RIFF' && text(bytes, 8) === 'WEBP'
        ? readWebp(bytes)
        : undefined;
  return found && found.width > 0 && found.height > 0 ? found : undefined;
}
