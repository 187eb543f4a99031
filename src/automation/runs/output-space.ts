import type { Scope } from '../../platform/database/scope.ts';
import {
  type Files,
  isStorageFull,
  StorageFailure,
  type Stored,
  type StoredFile,
  storageFullMessage,
} from '../../storage/index.ts';
import { storageFailed } from '../core/run-status.ts';
import type { StepEnd, StepFault } from '../steps/step-end.ts';
import { isLarge, storeOutput } from './large-outputs.ts';

/** Bytes of all outputs of a run. */
const maxRunOutputBytes = 32 * 1024 * 1024;

const tooLarge: StepFault = {
  status: 'failed',
  code: 'output_too_large',
  message: `The outputs of this run are larger than ${maxRunOutputBytes} bytes together.`,
};

/** What the step cost remains known. */
function failedWith(failure: StepFault, { output: _, status: __, ...spent }: StepEnd & { status: 'completed' }) {
  return { ...spent, ...failure };
}

const unstored = ({ message }: StorageFailure): StepFault =>
  Object.assign({ status: 'failed' as const }, storageFailed(message));

/** How a step ended, and the file that has its output, where that is large. */
export type StoredEnd = StepEnd & { file?: StoredFile };

/** The bytes that the outputs of one run may have, and where they are kept. */
export class OutputSpace {
  readonly #files: Files;
  readonly #scope: Scope;
  readonly #runId: string;
  readonly #stored: Stored;
  /** Bytes of all outputs that the run has. */
  #bytes: number;
  /** The same when it was loaded. */
  readonly #loadedBytes: number;

  constructor(files: Files, scope: Scope, runId: string, stored: Stored, loadedBytes: number) {
    this.#files = files;
    this.#scope = scope;
    this.#runId = runId;
    this.#stored = stored;
    this.#bytes = loadedBytes;
    this.#loadedBytes = loadedBytes;
  }

  /** Why no step can add an output, where the organization keeps as much as its plan includes. */
  get fault(): StepFault | undefined {
    const { plan, storedBytes } = this.#stored;
    const added = this.#bytes - this.#loadedBytes;
    if (!isStorageFull({ plan, storedBytes: storedBytes + added })) return undefined;
    return { status: 'failed', code: 'storage_full', message: storageFullMessage(plan) };
  }

  /**
   * Adds the output of a step. A large one is stored.
   * @param isLast whether a storage that is not available fails the step, as one that is full does in any case
   * @returns the end as it is to be recorded: failed also when the output exceeds what the run may hold
   * @throws StorageFailure while the storage is not available; the run is as it was then
   */
  async keep(given: StepEnd, isLast: boolean): Promise<StoredEnd> {
    const end = await this.#store(this.#withinRun(given), isLast);
    if (end.status === 'completed') this.#bytes += end.output.bytes;
    return end;
  }

  #withinRun(end: StepEnd): StepEnd {
    if (end.status === 'failed' || this.#bytes + end.output.bytes <= maxRunOutputBytes) return end;
    return failedWith(tooLarge, end);
  }

  async #store(end: StepEnd, isLast: boolean): Promise<StoredEnd> {
    if (end.status === 'failed' || !isLarge(end.output.bytes)) return end;
    try {
      const file = await storeOutput(this.#files, this.#scope, this.#runId, end.output);
      return { ...end, file };
    } catch (error) {
      if (!(error instanceof StorageFailure) || (error.reason === 'unavailable' && !isLast)) throw error;
      return failedWith(unstored(error), end);
    }
  }
}
