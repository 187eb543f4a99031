import type { MediaKind } from '../../providers/core/media/models.ts';

const minute = 60_000;

/** How long a generation may take from its creation. */
export const deadlineMs = (kind: MediaKind): number => (kind === 'video' ? 30 : 5) * minute;

/** Reserved credits are kept for an hour longer, so that no work is done on credits that were given back. */
export const reservationMs = (kind: MediaKind): number => deadlineMs(kind) + 60 * minute;
