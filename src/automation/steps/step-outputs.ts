import type { Files } from '../../storage/index.ts';
import { type KeptOutput, readStored } from '../runs/large-outputs.ts';
import type { Storable } from './storable.ts';

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

  /** Forgets what was used least recently. To be called only while every output is recorded. */
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
