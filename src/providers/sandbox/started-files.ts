import type { MadeMedia } from '../media/media-ports.ts';

/** Results that are not taken within this time are discarded: the generation is made elsewhere, or not at all. */
const keptMs = 15_000;
/** Maximum files that are begun and not taken yet. Further ones are made on request. */
const maxStarted = 32;

interface Begun {
  made: Promise<MadeMedia | undefined>;
  timer: NodeJS.Timeout;
}

const discard = async (made: Promise<MadeMedia | undefined>) => (await made)?.discard().catch(() => {});

/** Files that are begun before their request. */
export class StartedFiles {
  readonly #begun = new Map<string, Begun>();

  /** Begins to make the file of a job, where there is room. */
  keep(jobId: string, make: () => Promise<MadeMedia>): void {
    if (this.#begun.size >= maxStarted) return;
    // A failure happens again when the file is read, where it can be reported.
    const made = make().catch(() => undefined);
    const timer = setTimeout(() => {
      this.#begun.delete(jobId);
      void discard(made);
    }, keptMs).unref();
    this.#begun.set(jobId, { made, timer });
  }

  /** The file of a job, once: the caller discards it. @returns undefined if none was begun, or it could not be made */
  async take(jobId: string): Promise<MadeMedia | undefined> {
    const found = this.#begun.get(jobId);
    if (!found) return undefined;
    clearTimeout(found.timer);
    this.#begun.delete(jobId);
    return found.made;
  }
}
