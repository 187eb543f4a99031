import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BoundedWork } from '../../../platform/bounded-work/bounded-work.ts';
import type { TenantKey } from '../../../platform/security/tenant-key.ts';
import { openWorkFolder } from '../../../platform/work-folder.ts';
import { contentTypes } from '../../../storage/core/file-types.ts';
import { pixelLimits } from '../../core/media/requests.ts';
import { shrinkImage } from '../images/shrinking.ts';
import { ImageUnusable, type JobImage } from '../media-ports.ts';

const uri = (type: keyof typeof contentTypes, bytes: Buffer) =>
  `data:${contentTypes[type]};base64,${bytes.toString('base64')}`;

/** Base64 takes four characters for three bytes; the rest is for the prefix. */
const bytesIn = (characters: number) => Math.floor(((characters - 100) * 3) / 4);

/**
 * A job's image as a `data:` URI: providers get bytes, because the image's server may serve only us, and our own
 * addresses cannot be reached from everywhere. An image that is too long for the provider is made smaller.
 * @throws ImageUnusable; WorkQueueFull; WorkTooCostly; StorageFailure
 */
export async function dataUri(
  work: BoundedWork,
  tenantKey: TenantKey,
  image: JobImage,
  maxCharacters: number,
): Promise<string> {
  const { path: folder, discard } = await openWorkFolder();
  try {
    const path = join(folder, 'given');
    await image.copyTo(path);
    const whole = uri(image.type, await readFile(path));
    if (whole.length <= maxCharacters) return whole;
    const output = join(folder, 'smaller');
    const shrinking = { path, output, maxPixels: pixelLimits.input, maxBytes: bytesIn(maxCharacters) };
    const isSmaller = await work.run(shrinkImage, tenantKey, shrinking, { waitMs: 60_000 });
    if (!isSmaller) throw new ImageUnusable('The image is too large for the model.');
    return uri('jpg', await readFile(output));
  } finally {
    await discard();
  }
}
