import { AppError } from '../platform/errors.ts';

/** @param generationId as the caller wrote it */
export const generationNotFound = (generationId: string) =>
  new AppError('not_found', 'No generation has this id.', { generationId });
