import { enterAll, MemoryOpenCounter } from '../tenancy/index.ts';

/** Recordings that arrive at the same time at one process: of one organization, and in all. */
export const uploadSlots = { organization: 32, process: 128 } as const;

/** Limits how many recordings are received at the same time, each of which takes buffers and a file of up to 25 MB. */
export class UploadSlots {
  readonly #counter = new MemoryOpenCounter();

  /** @returns a function that releases the place @throws AppError rate_limit_exceeded */
  enter(organizationId: string): Promise<() => void> {
    return enterAll(this.#counter, [
      [`organization ${organizationId}`, uploadSlots.organization],
      ['process', uploadSlots.process],
    ]);
  }
}
