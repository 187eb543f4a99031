import { AppError } from '../platform/errors.ts';

/** @param generationId as the caller wrote it */
export const generationNotFound = (generationId: string) =>
  new AppError('not_found', 'No generation has this id.', { generationId });

/** @param videoId as the caller wrote it */
export const videoNotFound = (videoId: string) => new AppError('not_found', 'No video has this id.', { videoId });
