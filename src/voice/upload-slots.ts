import { concurrencyLimitReached } from '../platform/errors.ts';

/** Recordings that arrive at the same time at one process: of one organization, and in all. */
export const uploadSlots = { organization: 32, process: 128 } as const;

/**
 * Limits how many recordings are received at the same time, each of which takes buffers and a file of up to 25 MB. An
 * organization has an equal share of the places at most, and one more share stays free: slow uploads of many organizations
 * leave no room otherwise, as each may take half a minute to arrive.
 */
export class UploadSlots {
  /** Recordings that arrive, of each organization that has any. */
  readonly #open = new Map<string, number>();
  #total = 0;

  /** @returns a function that releases the place, once @throws AppError rate_limit_exceeded */
  async enter(organizationId: string): Promise<() => void> {
    const own = this.#open.get(organizationId) ?? 0;
    const organizations = this.#open.size + (own === 0 ? 1 : 0);
    const share = Math.max(1, Math.floor(uploadSlots.process / (organizations + 1)));
    const limit = Math.min(uploadSlots.organization, share);
    if (own >= limit) throw concurrencyLimitReached(limit);
    if (this.#total >= uploadSlots.process) throw concurrencyLimitReached(uploadSlots.process);
    this.#add(organizationId, 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#add(organizationId, -1);
      isHeld = false;
    };
  }

  #add(organizationId: string, count: 1 | -1): void {
    this.#total += count;
    const open = (this.#open.get(organizationId) ?? 0) + count;
    if (open === 0) this.#open.delete(organizationId);
    else this.#open.set(organizationId, open);
  }
}
