import type { MediaKind } from '../../providers/core/media/models.ts';

/** How long a generation may take from its creation, in milliseconds. */
interface Deadlines {
  video: number;
  others: number;
}

export const deadlineOf = ({ video, others }: Deadlines, kind: MediaKind): number =>
  kind === 'video' ? video : others;
