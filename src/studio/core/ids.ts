import { defineId } from '../../platform/core/ids.ts';
import type { MediaKind } from '../../providers/core/media/models.ts';

/** Generations that are answered when they are done. */
export const generationIds = defineId('gen');
/** Video jobs. */
export const videoIds = defineId('vid');

/** A generation's id as callers see it. */
export const formatId = (kind: MediaKind, uuid: string): string =>
  (kind === 'video' ? videoIds : generationIds).format(uuid);
