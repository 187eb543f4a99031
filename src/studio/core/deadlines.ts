import type { MediaKind } from '../../providers/core/media/models.ts';

/** How long a generation may take from its creation, in milliseconds. */
export interface Deadlines {
  video: number;
  others: number;
}

export const deadlineOf = ({ video, others }: Deadlines, kind: MediaKind): number =>
  kind === 'video' ? video : others;

/** Reserved credits are kept for an hour longer, so that no work is done on credits that were given back. */
export const reservationMs = (deadlines: Deadlines, kind: MediaKind): number => deadlineOf(deadlines, kind) + 3_600_000;
