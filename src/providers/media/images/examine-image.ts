// Runs in a process of the pool.
import { decoding, type ImageProblem, ImageRefused, openImage, type Size } from './open-image.ts';

/** Small enough to cost nothing; every line of the image takes part in it. */
const sample = 16;

/** What an image is once it is upright, or why it cannot be worked on. */
type Examined = { size: Size; hasTransparency: boolean } | { refused: ImageProblem };

/**
 * Decodes the whole of an image, a few lines at a time.
 * @param transparency whether each pixel is looked at; otherwise `hasTransparency` is whether the image has an alpha channel
 */
export async function perform({
  path,
  maxPixels,
  transparency,
}: {
  path: string;
  maxPixels: number;
  transparency: boolean;
}): Promise<Examined> {
  try {
    const { size, hasAlpha, open } = await openImage(path, maxPixels);
    if (transparency && hasAlpha) return { size, hasTransparency: !(await decoding(open().stats())).isOpaque };
    await decoding(open().resize(sample, sample, { fit: 'fill', fastShrinkOnLoad: false }).raw().toBuffer());
    return { size, hasTransparency: hasAlpha };
  } catch (error) {
    if (error instanceof ImageRefused) return { refused: error.problem };
    throw error;
  }
}
