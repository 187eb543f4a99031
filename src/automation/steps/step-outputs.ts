import type { Scope } from '../../platform/database/scope.ts';
import {
  type Files,
  isStorageFull,
  StorageFailure,
  type Stored,
  type StoredFile,
  storageFullMessage,
} from '../../storage/index.ts';
import { runIds } from '../core/ids.ts';
import { storageFailed } from '../core/run-status.ts';
import type { StepEnd, StepFault } from './step-context.ts';
import { maxOutputBytes, Storable } from './storable.ts';

/**
 * The largest value of a run or step that its detail includes, in bytes as JSON. A larger output is stored as a file, and
 * its row has the file's name: the table stays small, and an answer without the output does not read it. Such a file lives
 * as long as the rows that name it: those of its run and of retries of that run.
 */
export const shownBytes = 256 * 1024;

/** Stores a large output before the transaction that records it. @throws StorageFailure */
export function storeOutput(files: Files, scope: Scope, runId: string, { content }: Storable): Promise<StoredFile> {
  return files.store(scope, {
    kind: 'output',
    type: 'json',
    maxBytes: maxOutputBytes,
    content,
    title: runIds.format(runId),
  });
}

/** An output as its row has it. */
interface KeptOutput {
  output: unknown;
  /** The name of the file that has it instead. */
  file: string | null;
}

/** @returns JSON @throws StorageFailure; Error when the file is gone */
export async function readOutputFile(files: Files, name: string): Promise<Buffer> {
  const content = await files.read(name);
  if (!content) throw new Error(`The file ${name} of an output is gone.`);
  return content;
}

/** In its stored form. @throws StorageFailure; Error if the file was removed */
export async function readStored(
  files: Files,
  { output, file, bytes }: KeptOutput & { bytes: number },
): Promise<Storable> {
  if (file === null) return Storable.ofValue(output, bytes);
  return Storable.ofContent(await readOutputFile(files, file));
}

/** Bytes of all outputs of a run. */
const maxRunOutputBytes = 32 * 1024 * 1024;

const tooLarge: StepFault = {
  status: 'failed',
  code: 'output_too_large',
  message: `The outputs of this run are larger than ${maxRunOutputBytes} bytes together.`,
};

/** The cost of the step stays recorded. */
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
    if (end.status === 'failed' || end.output.bytes <= shownBytes) return end;
    try {
      const file = await storeOutput(this.#files, this.#scope, this.#runId, end.output);
      return { ...end, file };
    } catch (error) {
      if (!(error instanceof StorageFailure) || (error.reason === 'unavailable' && !isLast)) throw error;
      return failedWith(unstored(error), end);
    }
  }
}

/** The largest total of outputs that one step may use, in bytes. */
const maxTogether = 32 * 1024 * 1024;

/** The outputs exceed what one step may use. Its message may be shown to callers. */
export class OutputsTooLarge extends Error {
  override name = 'OutputsTooLarge';
}

/** Bytes of outputs that a run keeps in memory between its steps. More than one output can have. */
const keptBytes = 8 * 1024 * 1024;

/** An output as its row has it. */
export interface FoundOutput extends KeptOutput {
  /** The key of its step. */
  key: string;
  bytes: number;
}

/** Outputs of a run's finished steps: those used last are in memory, others are read. */
export class StepOutputs {
  readonly #files: Files;
  readonly #find: (keys: readonly string[]) => Promise<FoundOutput[]>;
  /** Bytes of the output of each finished step. */
  readonly #bytes: Map<string, number>;
  /** By the time of their last use. */
  readonly #atHand = new Map<string, Storable>();

  /**
   * @param find reads outputs by the keys of their steps
   * @param bytes of each finished step
   */
  constructor(files: Files, find: (keys: readonly string[]) => Promise<FoundOutput[]>, bytes: Map<string, number>) {
    this.#files = files;
    this.#find = find;
    this.#bytes = bytes;
  }

  add(key: string, output: Storable): void {
    this.#bytes.set(key, output.bytes);
    this.#atHand.delete(key);
    this.#atHand.set(key, output);
  }

  /** Forgets the least recently used value. To be called only while every output is recorded. */
  trim(): void {
    let bytes = [...this.#atHand.keys()].reduce((sum, id) => sum + this.#bytes.get(id)!, 0);
    for (const id of this.#atHand.keys()) {
      if (bytes <= keptBytes) return;
      this.#atHand.delete(id);
      bytes -= this.#bytes.get(id)!;
    }
  }

  /** Bytes of the outputs of these steps together. */
  bytesOf(keys: ReadonlySet<string>): number {
    return [...keys].reduce((sum, key) => sum + (this.#bytes.get(key) ?? 0), 0);
  }

  /** Whether a step has an output. */
  has(key: string): boolean {
    return this.#bytes.has(key);
  }

  /** @returns outputs by the keys of their steps, without unfinished steps. @throws OutputsTooLarge; StorageFailure */
  async of(named: ReadonlySet<string> | 'all'): Promise<Record<string, Storable>> {
    const wanted = [...(named === 'all' ? this.#bytes.keys() : named)].filter((key) => this.#bytes.has(key));
    const found = new Map<string, Storable>();
    const missing: string[] = [];
    for (const key of wanted) {
      if (this.#atHand.has(key)) found.set(key, this.#use(key));
      else missing.push(key);
    }
    await this.#read(missing, found);
    return Object.fromEntries(wanted.flatMap((key) => (found.has(key) ? [[key, found.get(key)!]] : [])));
  }

  #use(key: string): Storable {
    const output = this.#atHand.get(key)!;
    this.add(key, output);
    return output;
  }

  async #read(keys: string[], found: Map<string, Storable>): Promise<void> {
    if (keys.length === 0) return;
    const bytes = keys.reduce((sum, key) => sum + this.#bytes.get(key)!, 0);
    if (bytes > maxTogether) throw new OutputsTooLarge('The outputs that this step uses are too large together.');
    for (const row of await this.#find(keys)) {
      const output = await readStored(this.#files, row);
      this.add(row.key, output);
      found.set(row.key, output);
    }
  }
}

/** The values of outputs by the keys of their steps. */
export const valuesOfOutputs = (outputs: Record<string, Storable>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(outputs).map(([id, { value }]) => [id, value]));
