// Runs in a process of the pool.
import { writeFile } from 'node:fs/promises';
import { type ImageProblem, ImageRefused, openImage, type Size } from '../../media/images/open-image.ts';
import { encodeMp3, mp3Seconds } from '../../speech/audio/mp3.ts';
import { id3Tag } from './id3.ts';
import { drawImage, removeBackground, upscaleImage } from './images.ts';
import { compose, sampleRate, tempoOf } from './music.ts';
import { makeVideo } from './video.ts';

/** The file to make. `digest` is the SHA-256 of the canonical request, in hex; paths are files of the local disk. */
export type Rendering = { output: string } & (
  | { kind: 'image'; digest: string; size: Size; shapes: number }
  | { kind: 'upscale'; input: string; maxPixels: number; scale: number }
  | { kind: 'background_removal'; input: string; maxPixels: number }
  | { kind: 'video'; digest: string; size: Size; seconds: number; input: string | null; maxPixels: number }
  | { kind: 'music'; digest: string; seconds: number; bpm: number | null }
);

/** The file, or the reason why the given image cannot be used. */
export type Rendered = { made: Made } | { refused: ImageProblem };

export interface Made {
  /** The size of an image. */
  size?: Size;
  /** The size of the input image. */
  original?: Size;
  hasTransparency?: boolean;
  /** The length of a video or of music, as it is in the file. */
  seconds?: number;
}

async function render(rendering: Rendering): Promise<Made> {
  const { output } = rendering;
  switch (rendering.kind) {
    case 'image':
      return { size: await drawImage(rendering.digest, rendering.size, rendering.shapes, output) };
    case 'upscale': {
      const input = await openImage(rendering.input, rendering.maxPixels);
      return { size: await upscaleImage(input, rendering.scale, output), original: input.size };
    }
    case 'background_removal': {
      const input = await openImage(rendering.input, rendering.maxPixels);
      const { hasTransparency, ...size } = await removeBackground(input, output);
      return { size, original: input.size, hasTransparency };
    }
    case 'video': {
      const image = rendering.input === null ? undefined : await openImage(rendering.input, rendering.maxPixels);
      const { digest, size, seconds } = rendering;
      return { size, seconds: await makeVideo(digest, { size, seconds, image }, output) };
    }
    case 'music': {
      const { digest, seconds, bpm } = rendering;
      const channels = compose(digest, seconds, bpm ?? tempoOf(digest));
      const file = await encodeMp3(channels, sampleRate, id3Tag('sandbox'));
      await writeFile(output, file);
      return { seconds: await mp3Seconds(file) };
    }
  }
}

export async function perform(rendering: Rendering): Promise<Rendered> {
  try {
    return { made: await render(rendering) };
  } catch (error) {
    if (error instanceof ImageRefused) return { refused: error.problem };
    throw error;
  }
}
